"""Mixed tables of the census surveys."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from feddp_studies.accuracy.survey_tables import FILES, survey_table


def test_rows_are_of_one_class_and_the_server_s_of_another(tmp_path):
    rows = {"COW": [7, 6, 7], "AGEP": [17, 95, 56], "WKHP": [1, 98, 98], "SCHL": [24, 1, 24], "MAR": [1, 2, 5], "SEX": [1, 2, 2]}
    pq.write_table(pa.table(rows), tmp_path / FILES[2024])
    points, server = survey_table(tmp_path, "table-owners-2024", 0)
    one = np.sqrt(0.5)
    np.testing.assert_allclose(points, [[0, 0, 1, one, 0, 0, 0, 0, one, 0], [0.5, 1, 1, 0, 0, 0, 0, one, 0, one]])
    np.testing.assert_allclose(server, [[1, 1, 0, 0, one, 0, 0, 0, 0, one]])
