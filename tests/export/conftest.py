import pytest

from tests.export.cases import CASES, X


@pytest.fixture(scope="session", params=CASES)
def model(request):
    estimator, y = CASES[request.param]
    return estimator.fit(X[list(estimator.schema.names)], y)
