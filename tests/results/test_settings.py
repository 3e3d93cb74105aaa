from twincl.config import build_config, valid_keys
from twincl.results.settings import flatten


def test_sections_become_dotted_names():
    assert flatten({"seed": 0, "tcl": {"tau": 0.3, "deeper": {"still": None}}, "empty": {}, "list": [{"a": 1}]}) == {
        "seed": 0,
        "tcl.tau": 0.3,
        "tcl.deeper.still": None,
        "list": [{"a": 1}],
    }


def test_a_configuration_is_the_same_again_by_its_names():
    config = build_config(preset="official", settings={"optim.epochs": 3, "data.path": "digits"})
    flat = flatten(config.model_dump())
    assert list(flat) == valid_keys()
    assert build_config(settings=flat) == config
