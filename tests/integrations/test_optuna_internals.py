"""Optuna's private names still mean what tailproof takes them for."""

from optuna_studies import SQUARE, a_study, frozen, optuna, stepwise_bowl
from tailproof.integrations._optuna_internals import (
    enqueued_params,
    set_system_attr,
    whole_study,
)


def test_a_system_attribute_is_seen_by_other_readers_of_the_storage(tmp_path):
    storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path / 'a.db'}")
    study = a_study(storage=storage, study_name="a")
    trial = frozen(study, study.ask())
    set_system_attr(study, trial, "key", {"x": 1.5})
    other = optuna.load_study(storage=storage, study_name="a")
    assert other.trials[0].system_attrs["key"] == {"x": 1.5}
    storage.remove_session()
    storage.engine.dispose()


def test_what_was_enqueued_is_known_before_it_is_stored():
    study = a_study()
    study.enqueue_trial({"x": 0.25})
    trial = study.ask()
    assert study.trials[0].params == {}
    assert enqueued_params(frozen(study, trial)) == {"x": 0.25}
    assert enqueued_params(frozen(study, study.ask(SQUARE))) == {}


def test_a_sampler_gets_the_whole_study_behind_a_bracket():
    seen = []

    class Watching(optuna.samplers.RandomSampler):
        def infer_relative_search_space(self, study, trial):
            seen.append(study)
            return {}

    pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=9)
    study = a_study(Watching(), pruner=pruner, study_name="a")

    study.optimize(stepwise_bowl, n_trials=8)
    parts = [part for part in seen if part is not study]
    assert parts  # Optuna wraps the study
    assert any(len(part.get_trials()) < 8 for part in parts)  # and shows a part of it
    assert all(whole_study(part) is study for part in parts)
    assert whole_study(study) is study
