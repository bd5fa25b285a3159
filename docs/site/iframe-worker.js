// A page that is opened from a file may start no worker, and the search is one. Here a hidden frame
// takes its place: it loads the worker's script, and both sides pass messages as workers do.
if (location.protocol === "file:") {
  window.Worker = class FrameWorker extends EventTarget {
    constructor(script) {
      super();
      this.onmessage = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      const loaded = [];
      const load = (address) =>
        new Promise((resolve, reject) => {
          const element = inside.document.createElement("script");
          element.src = address;
          element.onload = resolve;
          element.onerror = () => reject(new Error(`${address} cannot be loaded`));
          inside.document.body.append(element);
        });
      inside.postMessage = (data) => {
        const message = new MessageEvent("message", { data: structuredClone(data) });
        this.dispatchEvent(message);
        this.onmessage?.(message);
      };
      inside.importScripts = (...addresses) => {
        for (const address of addresses) loaded.push(load(address));
        return Promise.all(loaded);
      };
      this.ready = load(script);
    }

    async postMessage(data) {
      await this.ready;
      const inside = this.frame.contentWindow;
      inside.dispatchEvent(new inside.MessageEvent("message", { data: structuredClone(data) }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
