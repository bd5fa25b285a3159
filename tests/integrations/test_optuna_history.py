"""How the history of a study is read, and how often."""

from collections.abc import Sequence

import pytest

from optuna_studies import SQUARE, a_sampler, a_study, bowl, bowl_study, optuna, suggested
from tailproof.integrations import _optuna_model
from tailproof.integrations import optuna as integration
from tailproof.integrations._optuna_history import StudyHistory
from tailproof.integrations.optuna import recommend


class Counting(Sequence):
    """Trials, and how many were looked at."""

    def __init__(self, trials):
        self.trials, self.looked = trials, set()

    def __len__(self):
        return len(self.trials)

    def __getitem__(self, place):
        self.looked.add(place)
        return self.trials[place]


def test_a_finished_trial_is_looked_at_once():
    study = bowl_study(6)
    study.ask()
    study.optimize(bowl, n_trials=3)
    history = StudyHistory()
    history.update(study.trials)
    assert [trial.number for trial in history.payoffs] == [0, 1, 2, 3, 4, 5, 7, 8, 9]
    assert [trial.number for trial in history.running] == [6]
    study.tell(6, 0.0)
    with pytest.warns(UserWarning, match="not all complete trials share"):
        study.optimize(bowl, n_trials=1)
    trials = Counting(study.trials)
    history.update(trials)
    assert trials.looked == {6, 7, 8, 9, 10}
    assert [trial.number for trial in history.payoffs[-2:]] == [6, 10]
    trials = Counting(study.trials)
    history.update(trials)
    assert len(trials.looked) <= 1
    assert len(history.payoffs) == 11


def test_payoffs_come_in_the_order_of_completion():
    study = a_study()
    trials = [study.ask(SQUARE) for _ in range(4)]
    for index in (2, 0, 3, 1):
        study.tell(trials[index], float(index))
    history = StudyHistory()
    history.update(study.trials)
    assert [trial.number for trial in history.payoffs] == [2, 0, 3, 1]


def test_another_study_under_the_same_name_is_another_study():
    sampler = a_sampler()
    for count in (8, 3):
        storage = optuna.storages.InMemoryStorage()
        study = optuna.create_study(storage=storage, study_name="a", sampler=sampler)
        study.optimize(bowl, n_trials=count)
        assert recommend(study, sampler=sampler).total_payoffs == count


def test_two_studies_may_share_a_sampler():
    sampler = a_sampler()
    studies = [a_study(sampler) for _ in range(2)]
    for _ in range(8):
        for study in studies:
            study.optimize(bowl, n_trials=1)
    alone = suggested(bowl_study(8))
    assert suggested(studies[0]) == suggested(studies[1]) == alone


def test_the_histories_of_few_studies_are_kept(monkeypatch):
    built = []

    class Counted(StudyHistory):
        def __init__(self):
            super().__init__()
            built.append(self)

    monkeypatch.setattr(_optuna_model, "StudyHistory", Counted)
    monkeypatch.setattr(integration, "MAX_STUDIES", 2)
    sampler = a_sampler()
    studies = [bowl_study(2, sampler) for _ in range(3)]
    assert len(built) == 3
    for study, expected in ((studies[2], 3), (studies[1], 3), (studies[0], 4)):
        study.optimize(bowl, n_trials=1)
        assert len(built) == expected


def test_a_trial_reads_the_study_once(monkeypatch):
    storage = optuna.storages.InMemoryStorage()
    study = bowl_study(6, storage=storage)
    reads = []
    get_all_trials = storage.get_all_trials

    def counted(study_id, deepcopy=True, states=None):
        if states is None:
            reads.append(deepcopy)
        return get_all_trials(study_id, deepcopy=deepcopy, states=states)

    monkeypatch.setattr(storage, "get_all_trials", counted)
    study.optimize(bowl, n_trials=3)
    assert reads == [False] * 3


def test_a_journal_is_as_good_as_a_database(tmp_path):
    backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "journal"))
    study = bowl_study(10, storage=optuna.storages.JournalStorage(backend))
    assert suggested(study) == suggested(bowl_study(10))
