"""The planted bugs: most break the guarantee without breaking a result, so nobody would notice them by using the software."""

from dataclasses import dataclass

PRIVACY = ("tests/privacy", "tests/audit", "tests/statistics/test_statistics.py")
STATISTICS = ("tests/statistics/test_statistics.py", "tests/conformance/test_engines.py", "tests/audit")
FEDERATION = (
    "tests/federation",
    "tests/conformance/test_federations.py",
    "tests/audit",
    "tests/algorithm/test_clustering.py",
    "tests/conformance/test_remote.py",
)
METHODS = ("tests/algorithm", "tests/audit", "tests/conformance/test_federations.py")
FACE = ("tests/cli", "tests/report", "tests/test_estimator.py")


@dataclass(frozen=True)
class Mutant:
    """One bug: in ``file``, ``before`` (which occurs once) becomes ``after``; ``tests`` are where it should show first."""

    name: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]


def _in(file: str, tests: tuple[str, ...], *bugs: tuple[str, str, str]) -> list[Mutant]:
    return [Mutant(name, file, before, after, tests) for name, before, after in bugs]


_SAME_RELEASES = 'return bool(self.to_dict()["releases"] == other.to_dict()["releases"])'

MUTANTS = [
    *_in(
        "query.py",
        STATISTICS,
        ("sums of clients in pieces", "return self.unit is PrivacyUnit.CLIENT", "return False"),
        ("points as one client", "batch if self.statistic.whole_clients else batch.single_points", "batch"),
    ),
    *_in(
        "noise.py",
        ("tests/privacy/test_noise.py", "tests/privacy/test_mechanism.py", *PRIVACY),
        ("gaussian of half the variance", "** 2 / (2 * sigma**2), dtype", "** 2 / (sigma**2), dtype"),
        ("laplace of half the scale", "1 + _geometric(stream, scale, count)", "1 + _geometric(stream, max(1, scale // 2), count)"),
        ("a constant key", "super().__init__(lambda: os.urandom(32))", "super().__init__(lambda: bytes(32))"),
        ("no new key after a fork", "(self.secure and self._pid != os.getpid())", "False"),
        ("noise of one sign", "return bits[:count].astype(bool)", "return np.zeros(count, dtype=bool)"),
        ("a seed that passes for secure", "return self._seed is None", "return True"),
        ("the same noise for a label asked again", 'f"{label}/{self._made[label]}"', 'f"{label}"'),
        (
            "one noise for all labels",
            'f"feddp-kmeans/{seed}/{label}/{next(keys)}"',
            'f"feddp-kmeans/{seed}/{next(keys)}"',
        ),
        ("no tail", "running = running[_bernoulli_exp(stream, np.ones(len(running)))]", "running = running[:0]"),
        ("a sampler without error", "SAMPLER_LOG_ERROR = 2.0**-41", "SAMPLER_LOG_ERROR = 0.0"),
        ("a key stream used for ever", "self._used > _REKEY_BYTES or", "False or"),
    ),
    *_in(
        "mechanism.py",
        ("tests/privacy/test_mechanism.py", "tests/privacy/test_noise.py", "tests/privacy/test_plan.py", *PRIVACY),
        (
            "noise on all values but the last",
            "+ noise.reshape(part.shape)",
            "+ noise.reshape(part.shape) * (np.arange(part.size) < max(1, part.size - 1)).reshape(part.shape)",
        ),
        ("noise where the sum is not zero", "+ noise.reshape(part.shape)", "+ np.where(part == 0, 0, noise.reshape(part.shape))"),
        (
            "noise in the data's units on integer sums",
            "fine = self.noise_multiplier * self.integer_sensitivity",
            "fine = self.noise_multiplier * self.sensitivity",
        ),
        ("shares that are too small", "scale = fine / math.sqrt(shares)", "scale = fine / shares"),
        ("laplace scale rounded down and halved", "math.ceil(fine)", "max(1, int(fine / 2))"),
        ("a coarse grid", "return max(0, math.ceil(math.log2(_FINEST_SCALE", "return 0 * max(0, math.ceil(math.log2(_FINEST_SCALE"),
        ("any number of values", "if size > self.values:", "if False:"),
        (
            "the sampler's error counted once",
            "return 2.0 * SAMPLER_LOG_ERROR * self.values * self.most_sums",
            "return 2.0 * SAMPLER_LOG_ERROR",
        ),
        ("sums of a pool are not counted", "return min(self.sums or self.times, self.times)", "return self.times"),
        ("laplace noise scaled by an L2 bound", "return self.l1 if mechanism is Mechanism.LAPLACE else self.l2", "return self.l2"),
        (
            "one noise for all values",
            "discrete_gaussian(stream, scale, part.size)",
            "discrete_gaussian(stream, scale, 1).repeat(part.size)",
        ),
    ),
    *_in(
        "accounting.py",
        ("tests/privacy/test_accounting.py", *PRIVACY),
        (
            "gaussians composed without squares",
            "mu = math.sqrt(sum(times / multiplier**2 for",
            "mu = math.sqrt(sum(times / multiplier**3 for",
        ),
        ("repetitions forgotten", "numbers[mechanism, multiplier, rate] += times", "numbers[mechanism, multiplier, rate] += 1"),
        ("equal releases counted once", "numbers[mechanism, multiplier, rate] += times", "numbers[mechanism, multiplier, rate] = times"),
        ("too much amplification", "sampling_prob=rate)", "sampling_prob=rate**1.2)"),
        ("a larger delta", "total.get_epsilon_for_delta(delta)", "total.get_epsilon_for_delta(2 * delta)"),
        ("the search ends on the wrong side", "while epsilon_at(factor, 1.0) > epsilon:", "while epsilon_at(factor, 1.0) > 1.1 * epsilon:"),
        (
            "delta without its second half",
            "return float(math.exp(upper) * -math.expm1(min(0.0, lower - upper)))",
            "return float(math.exp(upper) * -math.expm1(min(0.0, 1.1 * (lower - upper))))",
        ),
        ("no noise is free", "return math.inf\n    plain", "return 0.0\n    plain"),
    ),
    *_in(
        "plan.py",
        ("tests/privacy/test_plan.py", "tests/privacy/test_accounting.py", *PRIVACY),
        (
            "a little less noise",
            "noise_multiplier=r.noise_multiplier * factor) for r in requests)\n    return Plan",
            "noise_multiplier=r.noise_multiplier * factor * 0.97) for r in requests)\n    return Plan",
        ),
        ("amplification of points", "if rate < 1 and unit is PrivacyUnit.POINT:", "if False:"),
        ("reserve on the wrong side", "target = epsilon * (1 - _DISCRETISATION)", "target = epsilon * (1 + _DISCRETISATION)"),
        (
            "the last release forgotten",
            "return composed_epsilon(scaled, delta, sampling_rate, coarseness)",
            "return composed_epsilon(scaled[:-1], delta, sampling_rate, coarseness)",
        ),
        (
            "the last gaussian forgotten",
            "return math.sqrt(sum(r.times / r.noise_multiplier**2 for r in requests))",
            "return math.sqrt(sum(r.times / r.noise_multiplier**2 for r in requests[:-1]))",
        ),
        (
            "lloyd steps counted once",
            "return math.sqrt(sum(r.times / r.noise_multiplier**2 for r in requests))",
            "return math.sqrt(sum(1 / r.noise_multiplier**2 for r in requests))",
        ),
        ("samplers' error not spent", "return spent + sum(r.sampler_epsilon for r in self.releases)", "return spent"),
        ("a classical gaussian beyond epsilon 1", "return max(classical, 1.0 / gaussian_mu(epsilon, delta))", "return classical"),
    ),
    *_in(
        "ledger.py",
        ("tests/privacy/test_plan.py", "tests/privacy/test_mechanism.py", *PRIVACY),
        ("one release too many", "1 <= times <= release.times - made", "1 <= times <= release.times - made + 1"),
        ("no release at all, or fewer", "1 <= times <= release.times - made", "times <= release.times - made"),
        ("releases outside the plan", "if release not in self.plan.releases:", "if False:"),
        ("a simulation called private", "if not self.secure:", "if False:"),
        ("no noise called private", 'if self.epsilon == float("inf"):', "if False:"),
        ("several made as one count once", "self._booked[release] += times", "self._booked[release] += 1"),
        ("what was booked is forgotten", "self._booked[release] += times", "self._booked[release] = times"),
    ),
    *_in(
        "fixed_point.py",
        STATISTICS,
        (
            "a ball twice as large",
            'outside = np.einsum("ij,ij->i", encoded, encoded) > RESOLUTION**2',
            'outside = np.einsum("ij,ij->i", encoded, encoded) > (2 * RESOLUTION) ** 2',
        ),
        ("rounding beyond the ball", "np.where(beyond[:, None], np.trunc(scaled), rounded)", "rounded"),
        (
            "the center ignored",
            "encoded: FloatArray = np.subtract(points, center, dtype=np.float64)",
            "encoded: FloatArray = np.subtract(points, 0 * center, dtype=np.float64)",
        ),
        (
            "coordinates clipped one by one",
            "encoded[outside] = _shortened(np.subtract(points[outside], center, dtype=np.float64))",
            "encoded[outside] = np.clip(encoded[outside], -RESOLUTION, RESOLUTION)",
        ),
    ),
    *_in(
        "kernels.py",
        ("tests/conformance/test_engines.py", "tests/statistics/test_engine.py"),
        ("compiled: a ball twice as large", "if square > resolution * resolution:", "if square > 4 * resolution * resolution:"),
        ("compiled: rounding beyond the ball", "np.trunc(shortened) if beyond else np.rint(shortened)", "np.rint(shortened)"),
    ),
    *_in(
        "paper_sums.py",
        STATISTICS,
        (
            "Delta for Delta squared",
            "constant(Sensitivity(l1=None, l2=float(RESOLUTION) ** 2))",
            "constant(Sensitivity(l1=None, l2=float(RESOLUTION)))",
        ),
        (
            "counts of clients not bounded",
            "factor = COUNT_STEPS * np.where(totals <= bound, 1.0, bound * (1 - 2.0**-40) / np.maximum(totals, 1.0))",
            "factor = COUNT_STEPS * np.ones(len(totals))",
        ),
        (
            "counts bounded one by one",
            "factor = COUNT_STEPS * np.where(totals <= bound, 1.0, bound * (1 - 2.0**-40) / np.maximum(totals, 1.0))",
            "counts = np.minimum(counts, bound)\n    factor = COUNT_STEPS * np.ones(len(totals))",
        ),
        ("rounding of outer products forgotten", "rounding = np.sqrt(batch.sizes * encoded.shape[1]) / 2 + 1", "rounding = 0.0"),
        (
            "a point counted in its two clusters",
            "return np.bincount(labels, minlength=len(centers)).astype(np.int64)",
            "return 2 * np.bincount(labels, minlength=len(centers)).astype(np.int64)",
        ),
    ),
    *_in(
        "residual_sums.py",
        STATISTICS,
        (
            "counts outside the bound",
            "lengths = np.sqrt(squares + np.square(weighted_squares) + count_weight**2)",
            "lengths = np.sqrt(squares + np.square(weighted_squares))",
        ),
        (
            "squares outside the bound",
            "lengths = np.sqrt(squares + np.square(weighted_squares) + count_weight**2)",
            "lengths = np.sqrt(squares + count_weight**2)",
        ),
        (
            "lengths of clients understated",
            "norms = np.sqrt(np.bincount(units, np.square(values).sum(axis=1), minlength=batch.n_clients))",
            "norms = np.sqrt(np.bincount(units, np.square(values).sum(axis=1), minlength=batch.n_clients)) / np.sqrt(2)",
        ),
        (
            "second moments claim too little",
            "MOMENT_STEPS = math.floor(BOUNDED_STEPS / math.sqrt(2.0))",
            "MOMENT_STEPS = math.floor(BOUNDED_STEPS / 1.0)",
        ),
        ("trace in full", "- (1 - TRACE_WEIGHT**2) * np.square(traces) / encoded.shape[1]", "- np.square(traces) / encoded.shape[1]"),
        (
            "sizes in every class below",
            "return np.bincount(classes, minlength=SIZE_CLASSES).astype(np.int64)",
            "return np.bincount(classes, minlength=SIZE_CLASSES)[::-1].cumsum()[::-1].astype(np.int64)",
        ),
        ("scales of points rounded up", "np.maximum(np.ceil(_LEVELS", "np.maximum(np.floor(_LEVELS"),
    ),
    *_in(
        "arithmetic.py",
        STATISTICS,
        (
            "an encoding remembered under another radius",
            'batch.remembered("encoded", (float(radius), center.tobytes()), encode)',
            'batch.remembered("encoded", ("encoded",), encode)',
        ),
        ("labels remembered under other centers", "for array in (center, projection, centers)))", "for array in (center, projection)))"),
    ),
    *_in(
        "spreads.py",
        ("tests/statistics/test_statistics.py",),
        ("squares beyond the reach", "np.minimum(squares / reach**2, 1.0)", "np.minimum(squares / reach**2, 1.5)"),
        ("a total outside the bound", "+ np.square(totals))", ")"),
        ("spreads of points claim too little", "POINT_L1 = float(SIZE_STEPS + SQUARE_STEPS + TOTAL_STEPS)", "POINT_L1 = float(SIZE_STEPS)"),
    ),
    *_in(
        "costs.py",
        ("tests/statistics/test_costs.py", "tests/statistics/test_statistics.py", "tests/audit"),
        ("differences without a bound", "/ np.maximum(bound, norms)", "/ np.full(len(norms), bound)"),
        ("a norm of all sets but the last", "for column in vectors.T)", "for column in vectors.T[:-1])"),
        ("differences from other points", "squares.sum(axis=1, keepdims=True)", "squares.sum(axis=0, keepdims=True)"),
        (
            "sums of clients that wrap around",
            "2.0**_LOW_BITS * arithmetic.sums_of_runs(high, batch) + arithmetic.sums_of_runs(low, batch)",
            "1.0 * arithmetic.sums_of_runs(whole, batch)",
        ),
        ("steps that are rounded up", "np.trunc(vectors * factors[:, None])", "np.rint(vectors * factors[:, None] * (1 + 2.0**-23))"),
    ),
    *_in(
        "closing.py",
        ("tests/algorithm/test_closing.py",),
        ("a look at other centers", "looks.spreads(own, (centers - own.center) / own.grid", "looks.spreads(own, centers / own.grid"),
        ("a ball that cuts off", "max(CLOSING.room * (span + reach), LEAST_RADIUS)", "max(span / 2, LEAST_RADIUS)"),
    ),
    *_in(
        "nearest.py",
        STATISTICS,
        ("labels by float32 alone", "if unsure.any():", "if False:"),
    ),
    *_in(
        "base.py",
        FEDERATION,
        ("a more sensitive statistic", "if not stated <= release.integer_sensitivity * (1 + _TOLERANCE):", "if False:"),
        ("a statistic of another unit", "if statistic.unit is not unit:", "if False:"),
        (
            "a cohort twice as large",
            "return bits < np.uint64(int(rate * 2.0**64))",
            "return bits < np.uint64(int(min(rate * 2, 0.999) * 2.0**64))",
        ),
        (
            "one cohort for all releases",
            'bits: Array = self.streams.stream(f"cohort/{label}").uint64(self.n_clients)',
            "bits: Array = np.uint64(2) * np.random.default_rng(1).integers(0, 2**63, self.n_clients, dtype=np.uint64)",
        ),
    ),
    *_in(
        "local.py",
        FEDERATION,
        (
            "one stream for all releases",
            "self._cohort(name), self.streams.stream(name)",
            'self._cohort(name), self.streams.__class__(1 if self.seed is not None else None).stream("noise")',
        ),
        (
            "no noise",
            "return NoisySum(asked.release.noisy(self._total(asked.query, asked.cohort), asked.stream))",
            "return NoisySum(asked.release.from_steps(self._total(asked.query, asked.cohort)))",
        ),
    ),
    *_in(
        "batched.py",
        FEDERATION,
        (
            "points of the last run",
            "copied = copy(self)\n        copied.kept = {} if self.in_memory and self.size <= _KEPT_NUMBERS else None",
            "copied = self\n        self.kept = self.kept or {}",
        ),
        ("rows that are not numbers", "copied = ClientBatch(points[np.flatnonzero(finite)],", "copied = ClientBatch(points,"),
        ("rows dropped, sizes kept", "sizes = np.bincount(owners[finite], minlength=len(sizes))", "sizes = sizes * 1"),
    ),
    *_in(
        "participant.py",
        ("tests/network/test_participant.py", "tests/conformance/test_remote.py", "tests/federation"),
        ("agreed to and not booked", "self._policy.book(terms, self._odometer)", "pass"),
        ("any terms", "self._policy.check(terms)", "pass"),
        ("terms that change", "elif not hmac.compare_digest(state.digest, terms.digest):", "elif False:"),
        ("a request answered twice", "if session.hex() != state.session or turn <= state.turn:", "if session.hex() != state.session:"),
        ("a seed for everyone", "if terms.secure:\n            return SystemStream()", "if False:\n            return SystemStream()"),
        ("a release asked for once more", "if not 0 <= number < number + times <= release.times:", "if False:"),
        ("exact sums for a server that is not trusted", "if terms.trust is not trust:", "if False:"),
        ("an old session", "if session.hex() in state.sessions or", "if"),
    ),
    *_in(
        "terms.py",
        ("tests/network/test_terms.py", "tests/network/test_participant.py", "tests/federation"),
        ("noise shared between all", "return self.threshold - self.colluders if", "return self.threshold if"),
        ("a plan that says less than it spends", "if (spent := self.epsilon_spent) > self.plan.epsilon:", "if (spent := 0.0):"),
        ("any delta", "if plan.delta > self.delta:", "if False:"),
        ("any epsilon", "if terms.epsilon_spent > self.epsilon:", "if False:"),
        ("any trust", "if terms.trust is Trust.AGGREGATOR and not self.allow_aggregator:", "if False:"),
        ("simulations for everyone", "if not terms.secure and not self.allow_simulation:", "if False:"),
        ("the wrong unit", "if plan.unit is not self.unit:", "if False:"),
    ),
    *_in(
        "recorded.py",
        ("tests/federation/test_recorded.py", "tests/cli/test_fit.py"),
        ("fresh noise for what was released", "asked.release) if path.exists() else", "asked.release) if False else"),
        ("a release seen before it is kept", "write_whole(path, content)", "pass"),
    ),
    *_in(
        "session_terms.py",
        ("tests/network/secure_sum",),
        ("half of the parties are enough", "if 2 * self.threshold <= n + self.colluders:", "if 2 * self.threshold <= n:"),
        ("any threshold", "if 2 * self.threshold <= n + self.colluders:", "if False:"),
    ),
    *_in(
        "paper.py",
        ("tests/privacy/test_plan.py", *METHODS),
        (
            "Delta for Delta squared in the plan",
            "_Aggregate(statistics.OUTER_PRODUCT, Mechanism.GAUSSIAN, radius**2)",
            "_Aggregate(statistics.OUTER_PRODUCT, Mechanism.GAUSSIAN, radius)",
        ),
        (
            "lloyd steps planned once",
            'rows += [("lloyd sums", sums, k * dimension, steps), ("lloyd counts", counts, k, steps)]',
            'rows += [("lloyd sums", sums, k * dimension, 1), ("lloyd counts", counts, k, 1)]',
        ),
    ),
    *_in(
        "mechanism.py",
        ("tests/privacy", "tests/audit"),
        (
            "little noise is none",
            "        if self.noise_multiplier == 0:\n            return part",
            "        if self.noise_multiplier < 0.1:\n            return part << np.int64(self._shift)",
        ),
        (
            "a ledger of rounded noise",
            '"noise_multiplier": self.noise_multiplier,\n            "values"',
            '"noise_multiplier": round(self.noise_multiplier, 1),\n            "values"',
        ),
        ("room for no noise", "return 2.0 ** (62 - self._shift)", "return 2.0**63"),
    ),
    *_in(
        "noise.py",
        ("tests/privacy/test_noise.py", "tests/privacy", "tests/audit"),
        (
            "noise that repeats after a chunk",
            "    while filled < size:\n        batch = draw(min(_CHUNK, 2 * (size - filled) + 16))[: size - filled]",
            "    first = draw(_CHUNK)\n    while filled < size:\n        batch = first[: size - filled]",
        ),
        ("one key a process", "lambda: os.urandom(32)", "lambda: hashlib.sha256(b'%d' % os.getpid()).digest()"),
    ),
    *_in(
        "paper.py",
        ("tests/privacy/test_plan.py", "tests/algorithm/test_clustering.py"),
        (
            "Theorem 1 without its Lloyd steps",
            "total = first + second + (1 + steps) * (sums + counts)",
            "total = first + second + sums + counts",
        ),
    ),
    *_in(
        "ledger.py",
        ("tests/privacy/test_ledger.py", "tests/privacy/test_plan.py", "tests/network/test_remote.py", "tests/report"),
        ("repetitions are not told as spent", "[replace(release, times=count) for", "[replace(release, times=min(count, 1)) for"),
        ("epsilon without its decimals", 'f"e^{self.epsilon:g}, up to', 'f"e^{self.epsilon:.0f}, up to'),
        ("the spent epsilon is promised", 'f"e^{self.epsilon:g}, up to', 'f"e^{self.epsilon_spent / 2:g}, up to'),
    ),
    *_in(
        "fixed_point.py",
        ("tests/statistics/test_fixed_point.py", "tests/statistics/test_statistics.py", "tests/network/test_adversaries.py"),
        ("lengths that overflow", "LARGEST = 1e150", "LARGEST = 1e300"),
    ),
    *_in(
        "kernels.py",
        ("tests/statistics/test_nearest.py", "tests/conformance/test_engines.py"),
        ("compiled: labels by float32 alone", "return label if second < least else -1, float(least)", "return label, float(least)"),
    ),
    *_in(
        "paper_sums.py",
        STATISTICS,
        ("counts of clients rounded up", "np.floor(counts * factor[:, None])", "np.ceil(counts * factor[:, None])"),
    ),
    *_in(
        "arithmetic.py",
        STATISTICS,
        ("an empty client has its neighbour's points", "held = batch.sizes > 0\n", "held = batch.starts[:-1] < len(rows)\n"),
        (
            "an encoding remembered under another center",
            'batch.remembered("encoded", (float(radius), center.tobytes()), encode)',
            'batch.remembered("encoded", (float(radius),), encode)',
        ),
        (
            "projections remembered",
            "key = (float(radius), center.tobytes(), projection.tobytes())",
            "key = (float(radius), center.tobytes())",
        ),
    ),
    *_in(
        "residual_sums.py",
        STATISTICS,
        ("sums of residuals that are not exact", "rows = max(1, int(2.0**53 / (max(", "rows = max(1 << 20, int(2.0**53 / (max("),
        (
            "a point's moment taken for shorter",
            "shorter = math.sqrt(1 - (1 - TRACE_WEIGHT**2) / dimension)",
            "shorter = 1 - (1 - TRACE_WEIGHT**2) / dimension",
        ),
        (
            "weights that are negative",
            "lengths = np.sqrt(squares + np.square(weighted_squares) + count_weight**2)",
            "lengths = np.sqrt(np.maximum(squares + np.square(weighted_squares) + count_weight * abs(count_weight), 1))",
        ),
    ),
    *_in(
        "nearest.py",
        ("tests/statistics/test_nearest.py", *STATISTICS),
        ("labels a little unsure", "best - 2 * slack", "best - slack / 64"),
    ),
    *_in(
        "norms.py",
        STATISTICS,
        (
            "a point in two cells",
            "return np.bincount(flat, minlength=int(np.prod(cells))).astype(np.int64)",
            "return np.bincount(np.concatenate([flat, flat]), minlength=int(np.prod(cells))).astype(np.int64)",
        ),
        (
            "a point in two leaves",
            "return np.bincount(classes, minlength=len(edges) + 1).astype(np.int64)",
            "return np.bincount(np.concatenate([classes, classes]), minlength=len(edges) + 1).astype(np.int64)",
        ),
        (
            "a grid that depends on the points",
            "(batch.dense - low) / (high - low) * cells",
            "(batch.dense - low) / np.maximum(high - low, np.ptp(batch.dense, axis=0)) * cells",
        ),
    ),
    *_in(
        "base.py",
        (
            "tests/federation/test_local.py",
            "tests/conformance/test_federations.py",
            "tests/federation",
            "tests/test_estimator.py",
            "tests/audit",
        ),
        ("memory without a key", "if held is None or held[0] != key:", "if held is None:"),
        (
            "one memory for all batches",
            "field(default_factory=dict, repr=False, compare=False)",
            "field(default_factory=lambda held={}: held, repr=False, compare=False)",
        ),
        ("queries told apart by their arguments alone", "parts = [statistic.name.encode()]", 'parts = [b""]'),
    ),
    *_in(
        "batches.py",
        ("tests/federation/test_local.py", "tests/federation", "tests/audit"),
        (
            "a cohort that is kept",
            'return self.whole(cohort) if cohort is not None else self._once("whole", lambda: self.whole(None))',
            'return self._once("whole", lambda: self.whole(cohort))',
        ),
        (
            "rows that are not numbers in sparse tables",
            "finite: BoolArray = np.bincount(rows[~np.isfinite(points.data)], minlength=points.shape[0]) == 0",
            "finite: BoolArray = np.bincount(rows[np.isnan(points.data)], minlength=points.shape[0]) == 0",
        ),
        (
            "a client in two batches",
            "return gathered((as_floats(source.read()) for source in chosen), batch_rows(self.dimension))",
            "pieces = (p for s in chosen for p in cut(as_floats(s.read()), 256))\n        return gathered(pieces, 256)",
        ),
    ),
    *_in(
        "in_memory.py",
        ("tests/federation/test_local.py", "tests/conformance/test_federations.py", "tests/silos/test_streaming.py"),
        (
            "groups in the order of the table",
            "return self._table[start:end] if self._order is None else self._table[self._order[start:end]]",
            "return self._table[start:end]",
        ),
    ),
    *_in(
        "dask_silo.py",
        ("tests/silos/test_dask_silo.py",),
        (
            "all partitions in every cohort",
            "zip(self._partitions, cohort, strict=True) if taken]",
            "zip(self._partitions, cohort, strict=True)]",
        ),
    ),
    *_in(
        "torch_silo.py",
        ("tests/silos/gpu",),
        (
            "torch: a larger ball",
            "outside = ~(encoded.square().sum(dim=1) <= RESOLUTION**2)",
            "outside = ~(encoded.square().sum(dim=1) <= 2 * RESOLUTION**2)",
        ),
        (
            "torch: rounding beyond the ball",
            "return torch.where((rounded.square().sum(dim=1) > RESOLUTION**2)[:, None], scaled.trunc(), rounded)",
            "return rounded",
        ),
        ("torch: residuals not bounded", "/ lengths.clamp(min=bound)).floor()", "/ bound).floor()"),
    ),
    *_in(
        "participant.py",
        ("tests/network/test_participant.py", "tests/conformance/test_remote.py", "tests/federation", "tests/cli/test_crash.py"),
        (
            "a release masked again",
            'if label in state.opened:\n            raise BudgetError(f"release {label!r} must be made only once',
            'if False:\n            raise BudgetError(f"release {label!r} must be made only once',
        ),
        ("no lock at a client", "with self._runs.locked():", "if True:"),
    ),
    *_in(
        "terms.py",
        (
            "tests/network/test_terms.py",
            "tests/network/test_participant.py",
            "tests/conformance/test_remote.py",
            "tests/network/deployment",
        ),
        ("lists that nobody confirms", "if terms.trust is Trust.SECURE_SUM and self.confirmed and not terms.confirmed:", "if False:"),
        (
            "samplers' error of one share alone",
            "return self.plan.epsilon_spent + (self.shares - 1) * sum(r.sampler_epsilon for r in self.plan.releases)",
            "return self.plan.epsilon_spent",
        ),
        ("sampling under secure-sum", "if self.trust is Trust.SECURE_SUM and self.plan.sampling_rate < 1:", "if False:"),
        (
            "a digest without the releases",
            '[r.to_dict() | {"integer_sensitivity": r.integer_sensitivity} for r in plan.releases]',
            '[{"release": r.name, "integer_sensitivity": r.integer_sensitivity} for r in plan.releases]',
        ),
    ),
    *_in(
        "remote.py",
        ("tests/network/test_remote.py", "tests/network/test_adversaries.py", "tests/conformance/test_remote.py", "tests/federation"),
        ("fewer than the threshold", "if len(answers) < needed:", "if len(answers) < min(needed, 1):"),
        ("answers of any L1 length", " or sizes.sum() > l1 * _TO_SPARE:", ":"),
        (
            "remote: everybody in every cohort",
            "zip(self._sites.names, asked.cohort, strict=True) if taken and name in names]",
            "zip(self._sites.names, asked.cohort, strict=True) if name in names]",
        ),
        (
            "a node that does not show its key",
            'if self._roster is not None and not verify(self._roster[name], told.get("signature", bytes), presence(nonce, name)):',
            "if False:",
        ),
        (
            "exact sums in the server's log",
            "found = NoisySum(release.noisy(self._plain_sum(self._session, asked, question), asked.stream))",
            (
                "total = self._plain_sum(self._session, asked, question)\n                "
                'found = NoisySum(release.noisy(total, asked.stream))\n                logger.info("sum %s", total.sum())'
            ),
        ),
    ),
    *_in(
        "masks.py",
        ("tests/network/secure_sum",),
        ("a check that tells the mask", 'derive(seed, "self check", session', 'derive(seed, "self mask", session'),
    ),
    *_in(
        "party.py",
        ("tests/network/secure_sum",),
        (
            "one pair of seeds for all rounds",
            "[(os.urandom(SEED_BYTES), os.urandom(SEED_BYTES)) for _ in range(terms.rounds)]",
            "[(os.urandom(SEED_BYTES), os.urandom(SEED_BYTES))] * terms.rounds",
        ),
        (
            "one seed for both masks",
            "[(os.urandom(SEED_BYTES), os.urandom(SEED_BYTES)) for _ in range(terms.rounds)]",
            "[(os.urandom(SEED_BYTES),) * 2 for _ in range(terms.rounds)]",
        ),
        (
            "seeds rebuilt by fewer",
            "sharing.split(seed, self.terms.threshold, len(holders))",
            "sharing.split(seed, max(2, self.terms.threshold - 1), len(holders))",
        ),
        ("fewer survivors than the threshold", "if len(listed) < self.terms.threshold:", "if False:"),
        ("adverts that are not signed", "if not verify(roster[advert.name], advert.signature, advert.content(self.terms)):", "if False:"),
        ("secrets that are not forgotten", "self._unmasked = round_\n        self._forget_before(round_ + 1)", "self._unmasked = round_"),
        ("its own advert is not looked at", "self._check_own(adverts)\n        self._check_signatures", "self._check_signatures"),
    ),
    *_in(
        "messages.py",
        ("tests/network/secure_sum",),
        (
            "mask keys that are not signed",
            "keys = fields.encode(*self.mask_keys), fields.encode(*self.self_checks)",
            "keys = (fields.encode(*self.self_checks),)",
        ),
        ("an encryption key that is not signed", "self.name, self.encryption_key, *keys)", "self.name, *keys)"),
        ("a view of names", "*(advert.content(terms) for advert in adverts))", "*(advert.name for advert in adverts))"),
    ),
    *_in(
        "aggregator.py",
        ("tests/network/secure_sum",),
        (
            "any share rebuilds a seed",
            "if masks.self_check(seed, session, round_, name) != adverts[name].self_checks[round_]:",
            "if False:",
        ),
    ),
    *_in(
        "clustering.py",
        ("tests/test_raw_points.py", "tests/algorithm/test_clustering.py", "tests/test_estimator.py", "tests/cli/test_main.py"),
        ("a seed reported as secure", "secure=self.secure,\n            trust=self.trust,", "secure=True,\n            trust=self.trust,"),
        (
            "restarts that depend on the points",
            "feddp_init(steps, proxies, k, run.server_seed)",
            "feddp_init(steps, proxies, k, run.server_seed + hash(run._adder) % 7)",
        ),
    ),
    *_in(
        "refined.py",
        ("tests/test_raw_points.py", "tests/algorithm/test_clustering.py", "tests/audit"),
        (
            "weights without their noise taken off",
            "weights = shrunk_weights(sums.counts, sizes, sums.count_noise)",
            "weights = sums.counts",
        ),
    ),
    *_in(
        "_text.py",
        ("tests/test_text.py", "tests/report"),
        ("upper bounds rounded down", "math.ceil(part * 1000 - 1e-9) / 10", "math.floor(part * 1000) / 10"),
        ("a negative number of people", "if count < 0.5:", "if False:"),
        ("a chance smaller than it is", "math.floor(1 / found + 1e-6)", "math.ceil(1 / found + 0.5)"),
    ),
    *_in(
        "templates.py",
        ("tests/report",),
        ("names that are not escaped", "autoescape=True", "autoescape=False"),
    ),
    *_in(
        "show.py",
        ("tests/cli/test_fit.py",),
        ("a useless run ends as a success", "raise typer.Exit(USELESS)", "return"),
    ),
    *_in(
        "usefulness.py",
        ("tests/algorithm/test_usefulness.py",),
        ("centers within their noise are useful", "not _are_apart(", "_are_apart is None and not _are_apart("),
    ),
    *_in(
        "guarantee.html",
        ("tests/report",),
        (
            "people with several rows forgotten",
            '{% if result.privacy_unit == "point" %}\n<li>',
            '{% if result.privacy_unit == "row" %}\n<li>',
        ),
    ),
    *_in(
        "page.py",
        ("tests/report", "tests/test_text.py"),
        ("a factor rounded down", "math.ceil(math.exp(epsilon) * 100) / 100", "math.floor(math.exp(epsilon) * 100) / 100"),
        ("a seed is private", 'return bool(result.get("secure")) and finite', "return finite"),
        ("a caveat is overlooked", ' and not result.get("caveat")\n    return', "\n    return"),
    ),
    *_in(
        "result.py",
        ("tests/report", "tests/cli/test_main.py", "tests/cli/test_fit.py"),
        ("the seed is left out", '"seed": seed,', '"seed": None,'),
        ("secure whatever the noise", '"secure": privacy.secure,', '"secure": True,'),
    ),
    *_in(
        "budget.py",
        ("tests/cli/test_fit.py", "tests/cli"),
        (
            "a run that is not private shown as one",
            'f"{e.plan.epsilon:g}" if e.private else "NOT PRIVATE"',
            'f"{e.plan.epsilon:g}"',
        ),
        ("a folder counted by what was made", 'plan.get("releases", result["ledger"])', 'result["ledger"]'),
    ),
    *_in(
        "site.py",
        ("tests/network/deployment", "tests/cli/test_deploy.py"),
        ("simulations for every site", "allow_simulation=self.allow_simulation,", "allow_simulation=True,"),
        ("a site without its colluders", "            colluders=self.colluders,\n", ""),
        ("a site trusts the server", "allow_aggregator=self.allow_aggregator,", "allow_aggregator=True,"),
        ("a site without a roster", "roster=None if self.kit is None else read_kit(Path(self.kit)).sites(),", "roster=None,"),
        ("a site of points", "PrivacyUnit.parse(self.unit),", "PrivacyUnit.POINT,"),
    ),
    *_in(
        "inputs.py",
        ("tests/tables/test_schema.py", "tests/cli/test_encode.py"),
        (
            "a schema of the clients",
            "read_or_learn(server, stated, hidden, reading, names)",
            "read_or_learn(server or (Path(clients) if Path(clients).is_file() else None), stated, hidden, reading, names)",
        ),
    ),
    *_in(
        "columns.py",
        ("tests/tables",),
        (
            "numbers beyond their range",
            "clipped = np.clip(np.where(absent, self.low, values), self.low, self.high)",
            "clipped = np.where(absent, self.low, values)",
        ),
    ),
    *_in(
        "date_columns.py",
        ("tests/tables/test_columns.py",),
        ("missing dates beyond the bound", "return self.weight**2 * max(present, absent)", "return self.weight**2 * present"),
        ("dates beyond their range", "return self.weight**2 * max(present, absent)", "return self.weight**2 * absent"),
    ),
    *_in(
        "boolean_columns.py",
        ("tests/tables/test_columns.py",),
        ("yes of twice the bound", "return self.weight / 2 * np.column_stack([signs,", "return self.weight * np.column_stack([signs,"),
    ),
    *_in(
        "frames.py",
        ("tests/tables/test_frames.py",),
        ("a schema without its radius", "replace(settings, radius=schema.radius, open_columns", "replace(settings, open_columns"),
    ),
    *_in(
        "outside.py",
        ("studies/tests/rivals",),
        ("a rival without its caveat", "        caveat=caveat,\n    )", "    )"),
    ),
    *_in(
        "join.py",
        ("tests/cli/test_deploy.py",),
        ("a site of points whatever is asked", "        unit=unit,\n", ""),
        (
            "a join without its colluders",
            "        colluders=colluders,\n        confirmed=confirmed,\n        key=None",
            "        key=None",
        ),
        ("a join with the widest delta", "        delta=delta,\n        unit=unit", "        delta=max(delta, 1e-5),\n        unit=unit"),
    ),
    *_in(
        "threads.py",
        ("tests/silos/test_threads.py",),
        ("a batch counted twice in threads", "waiting = deque([submit(first)])", "waiting = deque([submit(first), submit(first)])"),
        ("a batch lost to the threads", "following = next(batches, None)", "following = next(batches, None) and next(batches, None)"),
    ),
    *_in(
        "noise.py",
        ("tests/privacy/test_noise.py",),
        ("coarse acceptances", "probability = np.exp(-exponent)", "probability = np.round(np.exp(-exponent), 2)"),
    ),
    *_in(
        "accounting.py",
        ("tests/privacy/test_accounting.py",),
        (
            "half of mu",
            "    if not others:\n        return gaussian_epsilon(mu, delta)",
            "    if not others:\n        return gaussian_epsilon(mu / 1.02, delta)",
        ),
    ),
    *_in(
        "totals.py",
        ("tests/privacy/test_odometer.py",),
        (
            "only the last run",
            "runs_epsilon(runs, delta)",
            "runs_epsilon(runs[-1:], delta)",
        ),
        (
            "runs for points protect clients",
            "narrower = [e for e in entries if unit is PrivacyUnit.CLIENT and e.plan.unit is PrivacyUnit.POINT]",
            "narrower = []",
        ),
        ("runs without noise are free", "if open_runs := [e for e in entries if not e.private]:", "if open_runs := []:"),
        (
            "samplers' error not added up",
            " + sum(r.sampler_epsilon for r in _releases(entries))",
            "",
        ),
        (
            "a sampling rate for all runs",
            "runs_epsilon(runs, delta)",
            "runs_epsilon([(releases, min(rate for _, rate in runs)) for releases, _ in runs], delta)",
        ),
    ),
    *_in(
        "entry.py",
        ("tests/privacy/test_odometer.py", "tests/privacy/test_marks.py"),
        ("a simulation is private", "return self.secure and math.isfinite", "return math.isfinite"),
        (
            "repetitions are not read back",
            "return cls(name, mechanism, sensitivity, steps, multiplier, values, times, sums)",
            "return cls(name, mechanism, sensitivity, steps, multiplier, values)",
        ),
    ),
    *_in(
        "odometer.py",
        ("tests/privacy/test_odometer.py", "tests/privacy/test_marks.py"),
        ("a run of another plan goes on", "elif booked is None or not booked.same_plan(entry):", "elif booked is None:"),
        (
            "limits look at points alone",
            "filter_for(entry.plan.unit, [*before, entry]",
            "filter_for(type(entry.plan.unit).POINT, [*before, entry]",
        ),
        ("two runs take the last of a budget", "            with locked(folder):\n", "            if True:\n"),
        ("the limit before this run", "[*before, entry], limit.delta)", "[*before], limit.delta)"),
    ),
    *_in(
        "unit.py",
        ("tests/privacy/test_plan.py", "tests/report"),
        (
            "clients are said to be protected",
            "        if self is PrivacyUnit.POINT:\n            return",
            "        if False:\n            return",
        ),
    ),
    *_in(
        "fixed_point.py",
        ("tests/statistics/test_fixed_point.py",),
        ("no least radius", "self.radius >= LEAST_RADIUS", "self.radius > 0"),
    ),
    *_in(
        "sparse_points.py",
        ("tests/statistics/test_sparse_points.py",),
        ("sparse: a larger ball", "(encoded.squared_norms() <= RESOLUTION**2)", "(encoded.squared_norms() <= 2 * RESOLUTION**2)"),
        ("sparse: rows out of order", '*shortened], format="csr")[order]', '*shortened], format="csr")'),
    ),
    *_in(
        "paper_sums.py",
        ("tests/statistics/test_statistics.py",),
        (
            "sums of clients bounded at twice the bound",
            "np.minimum(1.0, bound / (radius / RESOLUTION) * SLACK / row_norms(rows))",
            "np.minimum(1.0, 2 * bound / (radius / RESOLUTION) * SLACK / row_norms(rows))",
        ),
        ("sums of clients rounded up", "np.trunc(rows * factor[:, None]).astype", "np.ceil(rows * factor[:, None]).astype"),
        (
            "presence counts points",
            "_sum_bounded_l1((_counts_by_client(batch, **where) > 0).astype(np.float64), bound)",
            "_sum_bounded_l1(np.minimum(_counts_by_client(batch, **where), 2), 3 * bound)",
        ),
        (
            "outer product shrunk by the square root",
            "shrink = np.maximum(0.0, np.sqrt(limit) * SLACK - rounding) / np.sqrt(norms)",
            "shrink = np.sqrt(np.maximum(0.0, np.sqrt(limit) * SLACK - rounding) / np.sqrt(norms))",
        ),
        ("presence claims too little", "l2=min(bound, math.sqrt(bound)) * COUNT_STEPS)", "l2=math.sqrt(bound) / 2 * COUNT_STEPS)"),
        (
            "sums of clients claim too little",
            "l2=bound * (MEAN_STEPS / (radius / RESOLUTION)))",
            "l2=bound * (1 / (radius / RESOLUTION)))",
        ),
        ("outer products up to twice the bound", "np.where(norms <= limit * SLACK, 1.0", "np.where(norms <= 2 * limit, 1.0"),
    ),
    *_in(
        "residual_sums.py",
        ("tests/statistics/test_statistics.py",),
        (
            "residuals of points not bounded",
            "np.floor(BOUNDED_STEPS * (1 - 2.0**-32) / np.maximum(bound, lengths))",
            "np.full(len(lengths), np.floor(BOUNDED_STEPS / bound))",
        ),
        (
            "residuals of clients not bounded",
            "factors = BOUNDED_STEPS * SLACK / np.maximum(bound, norms)",
            "factors = BOUNDED_STEPS / bound + 0 * norms",
        ),
        (
            "rounding of second moments forgotten",
            "linear = slack * np.sqrt(frobenius)\n    room = np.maximum(limit - slack * slack, 0.0)",
            "linear = 0 * slack\n    room = limit + 0 * slack",
        ),
        (
            "trace at full weight",
            "weighted = np.sqrt(2 / dimension) * TRACE_WEIGHT * traces",
            "weighted = np.sqrt(2 / dimension) * traces",
        ),
    ),
    *_in(
        "norms.py",
        ("tests/statistics/test_statistics.py",),
        (
            "a client's distances counted point by point",
            "counts * SHARE_STEPS // batch.sizes[present // width])",
            "counts * SHARE_STEPS)",
        ),
    ),
    *_in(
        "arithmetic.py",
        ("tests/statistics/test_statistics.py",),
        (
            "outer products of large clients understated",
            "return float(np.sqrt(np.square(total).sum()))",
            "return float(np.sqrt(np.square(total).sum())) / 4",
        ),
    ),
    *_in(
        "gate.py",
        ("tests/adversary/test_attacks.py", "tests/statistics/test_statistics.py"),
        (
            "any projection",
            '"projection": Argument(("d", "p"), column_norm=_UNIT_COLUMNS, optional=True)',
            '"projection": Argument(("d", "p"), optional=True)',
        ),
        ("any center", '"centers": Argument(("k", "p"), row_norm=FARTHEST)', '"centers": Argument(("k", "p"))'),
        ("edges in any order", 'Argument(("e",), ascending=True)', 'Argument(("e",))'),
    ),
    *_in(
        "base.py",
        ("tests/federation", "tests/statistics/test_gate.py", "tests/network/test_identity.py", "tests/test_booking.py"),
        (
            "a release that is not booked",
            "        self.ledger.book(release, times, len(parts))\n        check_query",
            "        check_query",
        ),
        (
            "a fit that is not booked",
            "        self.book()\n        found =",
            "        if self.made:\n            self.book()\n        found =",
        ),
        ("a fit without its limit", "self.odometer.book(entry, limit=self.limit)", "self.odometer.book(entry)"),
        (
            "a simulated fit booked as secure",
            "self.books.book(self.plan, self.id, secure=self.secure, state=state)",
            "self.books.book(self.plan, self.id, secure=True, state=state)",
        ),
        (
            "a query is refused before it is booked",
            "        check_query(query, release, self.plan.unit)\n        self.book()",
            "        self.ledger._booked.popitem()\n        check_query(query, release, self.plan.unit)\n        self.book()",
        ),
    ),
    *_in(
        "base.py",
        ("tests/network/test_participant.py",),
        (
            "queries told apart by their shapes alone",
            "repr((kind, array.dtype.str, array.shape)).encode(), array.tobytes()]",
            'repr((kind, array.dtype.str, array.shape)).encode(), b""]',
        ),
    ),
    *_in(
        "base.py",
        ("tests/statistics/test_statistics.py",),
        ("any bound", "if not 1 <= stated.l2 <= max(stated.l2, stated.l1 or 0.0) <= MAX_SCALE:", "if False:"),
    ),
    *_in(
        "gate.py",
        ("tests/statistics/test_gate.py",),
        ("tables of any shape", "    if not fits:\n", "    if False:\n"),
        (
            "arguments that are not numbers",
            "array[~((array >= low) & (array <= high))]",
            "array[(array < low) | (array > high)]",
        ),
    ),
    *_in(
        "batched.py",
        ("tests/federation/test_cohorts.py",),
        (
            "everybody in every cohort",
            "return self.whole(cohort) if cohort is not None else",
            "return self.whole(None) if cohort is not None else",
        ),
    ),
    *_in(
        "torch_silo.py",
        ("tests/silos/gpu/test_torch_silo.py",),
        ("torch: a client is a point", "if query.statistic.whole_clients:", "if False:"),
    ),
    *_in(
        "participant.py",
        ("tests/network/test_participant.py", "tests/network/test_noise_shares.py"),
        ("a query that changes", "if any(now.meets(before) for before in state.sums):", "if False:"),
        ("more sums than planned", "for before in state.sums) >= release.most_sums:", "for before in state.sums) > release.most_sums:"),
        ("any noise is made as one", "if times > 1 and not terms.plan.adds_up(release):", "if False:"),
        (
            "masked without noise",
            "part = release.with_noise(self._own_total(query, release), stream, terms.shares)",
            "part = self._own_total(query, release)",
        ),
        ("more sensitive queries", "check_query(query, release, terms.plan.unit)", "pass"),
        (
            "errors told to the server",
            'return pack("failed", reason=_DESCRIBE_FAILED if kind == "describe" else _FAILED)',
            'return pack("failed", reason=str(error.__cause__ or error))',
        ),
        ("shares for all but the colluders too", "stream, terms.shares)", "stream, terms.threshold)"),
        (
            "sources are clients of their own",
            "total = self._data().as_one_client().exact_sum(query)",
            "total = self._data().exact_sum(query)",
        ),
    ),
    *_in(
        "run.py",
        ("tests/federation", "tests/privacy/test_ledger.py", "tests/privacy/test_mechanism.py", "tests/network/test_noise_shares.py"),
        ("sampled clients are asked as one", "release.mechanism is Mechanism.GAUSSIAN and self.sampling_rate == 1", "True"),
        ("one for many has too little noise", "self.noise_multiplier / math.sqrt(times)", "self.noise_multiplier / times"),
        ("numbers of releases overlap", "self._asked[name] += times", "self._asked[name] += 1"),
        (
            "records of another number",
            'return self.query.digest + (f" x {self.times}" if self.times > 1 else "")',
            "return self.query.digest",
        ),
        ("stated noise is as planned", "noise_multiplier=factor * one.noise_multiplier", "noise_multiplier=one.noise_multiplier"),
        ("real noise is forgotten in a record", "return NoisySum(values, float(factor))", "return NoisySum(values)"),
        (
            "noise of those who did not answer",
            "math.sqrt(len(survivors) / self._terms.shares)",
            "math.sqrt(len(self._sites.names) / self._terms.shares)",
        ),
    ),
    *_in(
        "protocol.py",
        ("tests/network/test_remote.py",),
        (
            "a presence that can be replayed",
            'len(nonce).to_bytes(2, "big") + nonce + name.encode()',
            'len(nonce).to_bytes(2, "big") + name.encode()',
        ),
    ),
    *_in(
        "replies.py",
        ("tests/network/test_remote.py",),
        ("an old answer again", "if place is not None and place_of(told) != place:", "if False:"),
    ),
    *_in(
        "terms.py",
        ("tests/network/test_terms.py",),
        ("no limit over runs", 'Books(odometer, limit, f"run', 'Books(odometer, None, f"run'),
        ("any number of colluders", "if terms.colluders < (least := self.least_colluders(sites)):", "if False:"),
        ("booked as secure", 'terms.run, secure=terms.secure, state="")', 'terms.run, secure=True, state="")'),
    ),
    *_in(
        "quorum.py",
        ("tests/network/test_quorum.py",),
        ("a threshold of half", "return (sites + colluders) // 2 + 1", "return max(1, (sites + colluders) // 2)"),
    ),
    *_in(
        "recorded.py",
        ("tests/federation/test_recorded.py", "tests/network/test_identity.py"),
        ("a lost release made again", "if kept is not None and not path.exists():", "if False:"),
        ("another query under an old label", 'if kept is not None and kept["query"] != digest:', "if False:"),
        (
            "resumed on other data",
            "            run.book(_state(record))",
            '            run.book(_state(record)) if is_new else setattr(run, "_booked", True)',
        ),
    ),
    *_in(
        "masks.py",
        ("tests/network/secure_sum/test_masks.py",),
        ("a pair mask for all rounds", '"pair mask", session, round_, query, *sorted', '"pair mask", session, query, *sorted'),
    ),
    *_in(
        "party.py",
        ("tests/network/secure_sum/test_party.py", "tests/network/test_whole_run.py"),
        (
            "confirmations of another round",
            'fields.statement("survivors", view, round_, self._query, *lists)',
            'fields.statement("survivors", view, self._query, *lists)',
        ),
        (
            "confirmations of another session",
            'fields.statement("survivors", view, round_, self._query, *lists)',
            'fields.statement("survivors", round_, self._query, *lists)',
        ),
    ),
    *_in(
        "fit.py",
        ("tests/test_booking.py", "tests/cli/test_resume.py", "tests/cli/test_fit.py"),
        (
            "a run that is not booked",
            "recorded.books = None if rehearse else books",
            "pass",
        ),
        (
            "releases taken away before the limit is checked",
            "if resume is None and not rehearse:  # before earlier releases are replaced",
            "if False:",
        ),
        (
            "a look that is not booked",
            "recorded.books = Books(odometer_of(clients, odometer), most, options.command_line(), table_of(clients))",
            "pass",
        ),
        (
            "a look without its limit",
            "recorded.books = Books(odometer_of(clients, odometer), most, options.command_line(), table_of(clients))",
            "recorded.books = Books(odometer_of(clients, odometer), None, options.command_line(), table_of(clients))",
        ),
    ),
    *_in(
        "job.py",
        ("tests/network/deployment/test_site.py", "tests/test_booking.py"),
        (
            "a job without its limit",
            "federation.books = Books(Odometer(Path(request.odometer)), limit, request.command)",
            "federation.books = Books(Odometer(Path(request.odometer)), None, request.command)",
        ),
        ("a job that is not booked", "federation.books = Books(Odometer(Path(request.odometer)), limit, request.command)", "pass"),
    ),
    *_in(
        "gate.py",
        ("tests/statistics/test_gate.py",),
        ("whole numbers for floats", "else isinstance(given, float)):", "else isinstance(given, int | float)):"),
        ("numbers of any size", "array[~((array >= low) & (array <= high))]", "np.ravel(array)[:0]"),
        ("arrays of any type", " and given.dtype == np.float64 if argument.shape", " if argument.shape"),
        ("an array that can be changed afterwards", 'np.array(given, order="C")', "given"),
        ("any order", "    if argument.ascending:", "    if False:"),
        ("parts of numbers", "    if argument.whole:", "    if False:"),
        ("rows of any length", "np.sqrt(rows[~(rows <= argument.row_norm**2)])", "rows[:0]"),
        ("columns a little longer", "columns <= argument.column_norm**2", "columns <= 1.1 * argument.column_norm**2"),
        ("no rule for several arguments", "    check(**parsed)\n", ""),
        ("unknown names", "        if name not in arguments:", "        if False:"),
        (
            "sizes that do not go together",
            "least, most = (sizes[size], sizes[size]) if size in sizes else _SIZES[size]",
            "least, most = _SIZES[size]",
        ),
    ),
    *_in(
        "gate.py",
        ("tests/adversary/test_attacks.py", "tests/statistics/test_statistics.py"),
        ("centers ten times as far", "FARTHEST = 2.0**24", "FARTHEST = 2.0**28"),
        ("radii that underflow", "Argument(low=LEAST_RADIUS)", "Argument(low=5e-324)"),
        ("weights without end", '"count_weight": Argument(low=0.0, high=2.0**32)', '"count_weight": Argument(low=0.0)'),
        ("bounds of residuals near zero", '"bound": Argument(low=0.5, high=2.0**60)', '"bound": Argument(low=0.0, high=2.0**60)'),
    ),
    *_in(
        "paper_sums.py",
        ("tests/adversary/test_attacks.py", "tests/statistics/test_statistics.py"),
        ("norms taken for exact", "SLACK = 1 - 2.0**-24", "SLACK = 1 + 2.0**-24"),
    ),
    *_in(
        "query.py",
        ("tests/statistics/test_gate.py",),
        ("arguments as they came", "MappingProxyType(parsed)", "MappingProxyType(dict(self.public))"),
        ("any number of values in a query", "if size > MOST_VALUES:", "if False:"),
        ("a query of other coordinates", "if batch.points.shape[1] != self.dimension:", "if False:"),
        ("more values than a release has", "release.check_size(query.size)", "pass"),
        (
            "arguments are looked at after the booking",
            "        query = Query(statistic, public | rows, self.dimension)\n        parts =",
            "        self.ledger.book(release, times)\n        query = Query(statistic, public | rows, self.dimension)\n        parts =",
        ),
    ),
    *_in(
        "column_counts.py",
        ("tests/statistics/test_column_counts.py", "tests/statistics/test_statistics.py"),
        ("columns that cost nothing", "l2=math.sqrt(len(column_edges)) * SHARE_STEPS", "l2=float(SHARE_STEPS)"),
        ("a count for every cell of a client", "counts * SHARE_STEPS // sizes[present // width]", "counts * SHARE_STEPS"),
        ("more columns than were paid for", "if chosen.sum() != len(column_edges):", "if False:"),
    ),
    *_in(
        "column_knots.py",
        ("tests/algorithm/test_column_knots.py", "tests/test_knots.py", "tests/cli/test_knots.py"),
        ("knots of all columns for the price of one", "math.sqrt(n_columns) * SHARE_STEPS", "float(SHARE_STEPS)"),
        (
            "ranks whose stated error leaves out the noise",
            "return place, float(off[place] + errors[place])",
            "return place, float(off[place])",
        ),
        ("a record that another column may go on with", "for name, ends in ranges.items()}}", "for name, ends in [] and ranges.items()}}"),
    ),
    *_in(
        "batch.py",
        ("tests/statistics/test_column_counts.py",),
        ("one unit for all columns", "units[places], dtype", "units[:1], dtype"),
        ("rows without any cell are filled in", "there = np.flatnonzero(_has_cells(source.points))", "there = np.arange(source.n_points)"),
    ),
    *_in(
        "base.py",
        ("tests/federation/test_cohorts.py",),
        ("a rate squared", "np.uint64(int(rate * 2.0**64))", "np.uint64(int(rate**2 * 2.0**64))"),
        ("those left out take part", "return bits < np.uint64(int(rate", "return bits > np.uint64(int(rate"),
        (
            "a cohort for each release and not for its repetitions",
            'self.streams.stream(f"cohort/{label}").uint64(self.n_clients)',
            "StreamFactory(len(label)).stream(label).uint64(self.n_clients)",
        ),
    ),
    *_in(
        "memory.py",
        ("tests/federation/test_cohorts.py", "tests/federation/test_local.py"),
        ("a table's clients in every cohort", "            if cohort is None:\n", "            if True:\n"),
    ),
    *_in(
        "batches.py",
        ("tests/federation/test_cohorts.py", "tests/federation/test_local.py", "tests/silos/test_batches.py"),
        (
            "kept clients in every cohort",
            'return self.whole(cohort) if cohort is not None else self._once("whole", lambda: self.whole(None))',
            'return self._once("whole", lambda: self.whole(None))',
        ),
        (
            "sources in every cohort",
            "chosen = self._sources if cohort is None else [source for source, taken in zip(self._sources, cohort, strict=True) if taken]",
            "chosen = self._sources",
        ),
        ("sparse rows without end", "return max(1, min(EXACT_ROWS, _SPARSE_VALUES // dimension))", "return max(1, _SPARSE_VALUES)"),
    ),
    *_in(
        "sparse_points.py",
        ("tests/statistics/test_sparse_points.py", "tests/statistics/test_sparse_statistics.py"),
        ("sparse: nothing is clipped", "inside = has_all_far & (encoded", "inside = np.ones(n, dtype=bool) | (encoded"),
        ("sparse: zeros beyond the ball pass", "inside = has_all_far & (encoded", "inside = (encoded"),
        ("sparse: a long base", "    base[far] = 0.0\n", ""),
        ("sparse: a long base once scaled", "        bases[np.abs(bases) > 2 * RESOLUTION] = 0.0\n", ""),
        ("sparse: products of too many rows", "_GRAM_ROWS = EXACT_ROWS // 4", "_GRAM_ROWS = EXACT_ROWS * 64"),
        ("sparse: numbers of one place twice", "    if rows.has_canonical_format:", "    if True:"),
    ),
    *_in(
        "noise.py",
        ("tests/privacy/test_noise.py",),
        ("acceptances of one word", "    if tie.any():", "    if False:"),
        (
            "acceptances of two words",
            "result[tie] = _below(stream, (scaled - whole)[tie])",
            "result[tie] = stream.uint64(int(tie.sum())) < ((scaled - whole)[tie] * 2.0**64).astype(np.uint64)",
        ),
    ),
    *_in(
        "accounting.py",
        ("tests/privacy/test_accounting.py",),
        ("a laplace mu that is its epsilon", "else pure_mu(cost))", "else cost)"),
        ("repetitions are free in the filter", "sum(r.times * (cost", "sum((cost"),
    ),
    *_in(
        "totals.py",
        ("tests/privacy/test_odometer.py", "tests/test_booking.py"),
        (
            "sampled runs are amplified in the filter",
            "filter_epsilon(releases, delta)",
            "filter_epsilon(releases, delta) * min(e.plan.sampling_rate for e in entries)",
        ),
        (
            "the filter forgets all but the last run",
            "filter_epsilon(releases, delta)",
            "filter_epsilon(_releases(entries[-1:]), delta)",
        ),
    ),
    *_in(
        "entry.py",
        ("tests/privacy/test_marks.py", "tests/privacy/test_odometer.py", "tests/test_booking.py"),
        ("plans told apart by their releases alone", "return self.to_dict() | names == other.to_dict() | names", _SAME_RELEASES),
        ("booked as amplified", '"sampling_rate": self.plan.sampling_rate,', '"sampling_rate": self.plan.sampling_rate / 2,'),
        ("booked without its rate", '"sampling_rate": self.plan.sampling_rate,', '"sampling_rate": 1.0,'),
        ("points booked as clients", '"privacy_unit": self.plan.unit.value,', '"privacy_unit": "client",'),
        ("simulations booked as secure", "return cls(plan, what, secure, run,", "return cls(plan, what, True, run,"),
        ("simulations read back as secure", 'secure = field_of(given, "secure", bool, what)', "secure = True"),
        ("no id is booked", "return cls(plan, what, secure, run,", 'return cls(plan, what, secure, "",'),
    ),
    *_in(
        "odometer.py",
        ("tests/privacy/test_marks.py", "tests/privacy/test_odometer.py"),
        ("the limit at the run's own delta", "[*before, entry], limit.delta)", "[*before, entry], entry.plan.delta)"),
        (
            "a limit without a filter",
            "total = filter_for(entry.plan.unit, [*before, entry]",
            "total = total_for(entry.plan.unit, [*before, entry]",
        ),
        (
            "every run is a first one",
            "if not (before or total.within(limit)):\n            total = total_for(entry.plan.unit, [entry], limit.delta)",
            "if not total.within(limit):\n            total = total_for(entry.plan.unit, [*before, entry], limit.delta)",
        ),
        ("a run that goes on is not looked up", "        if self._booked(run) is None:\n", "        if False:\n"),
        ("any run that is booked", "(entry := self._entry(number, line)).run == run)", "(entry := self._entry(number, line)))"),
        ("marks are not looked at", "if mark is None or state not in {mark.done, mark.begun}:", "if mark is None:"),
        ("an emptied folder goes on", "state not in {mark.done, mark.begun}:", 'state not in {"", mark.done, mark.begun}:'),
        ("two states go on", "if mark != Mark(state, state):", "if False:"),
        ("two copies get through", "if marks.of(run) != Mark(before, after):", "if False:"),
        (
            "a step that is never done",
            "                raise _not_latest(run)\n            marks.set(run, Mark(after, after))",
            "                raise _not_latest(run)",
        ),
        ("a run begins beyond its limit", "self.check_limit(entry, limit)\n                marks", "marks"),
        ("a run is booked twice", "if entry.run and any(entry.run == other.run for other in before):", "if False:"),
    ),
    *_in(
        "recorded.py",
        ("tests/network/test_identity.py", "tests/federation/test_recorded.py"),
        (
            "a record without a mark",
            "run.book(_state(record))",
            "run.book()",
        ),
        ("a recorded run without its limit", "self.odometer.begin(entry, state, limit=self.limit)", "self.odometer.begin(entry, state)"),
        ("releases without a record", 'if any(self._folder.glob("*.npy")):', "if False:"),
        ("another seed goes on", ' or record["seed"] != run.seed:', ":"),
        ("releases that were changed", "if kept in {None, _digest(content)}:", "if True:"),
        ("what nobody booked goes on", "run.book(_state(record))", "run._booked = True"),
    ),
    *_in(
        "run_state.py",
        ("tests/network/test_run_state.py",),
        ("a site's backup answers", "self._odometer.check(run, _digest(content))", "pass"),
    ),
    *_in(
        "run_state.py",
        ("tests/network/test_participant.py",),
        ("several made as one take one number", "self.number < other.number + other.times", "self.number < other.number + 1"),
    ),
    *_in(
        "participant.py",
        ("tests/network/test_whole_run.py", "tests/network/test_participant.py", "tests/network/test_sequences.py"),
        ("a roster of any size", "if secure_sum and self._roster is not None:", "if False:"),
        ("parties that come later", "        if strangers:", "        if False:"),
        ("parties of the latest session", "state.parties = state.parties or names", "state.parties = names"),
        ("a threshold for nobody", "self._policy.check_sites(terms, len(state.parties))", "pass"),
        ("an opening that is not remembered", "        state.opened.append(label)\n", ""),
        (
            "an answer for other survivors",
            'return [asked.get("session", bytes).hex(), asked.get("round", int), asked.get("survivors", list)]',
            'return [asked.get("session", bytes).hex(), asked.get("round", int)]',
        ),
        ("masks that do not know the query", "query_bytes(asked.fields))", 'b"")'),
    ),
    *_in(
        "participant.py",
        ("tests/network/test_noise_shares.py",),
        (
            "noise from a number of the server's",
            "return SystemStream()",
            'return SeededStream(asked.fields.get("seed", 0), f"{self.name}/{_label(asked)}")',
        ),
        ("one noise for all releases of a site", 'f"{self.name}/{label_of(asked.fields)}")', 'f"{self.name}")'),
        ("one noise for all sites", 'f"{self.name}/{label_of(asked.fields)}")', "label_of(asked.fields))"),
    ),
    *_in(
        "participant.py",
        ("tests/network/test_side_channels.py",),
        (
            "rows told to the server",
            "columns=list(columns), signature=signature)",
            "columns=list(columns), signature=signature, rows=sum(len(source.read()) for source in self._data().sources))",
        ),
    ),
    *_in(
        "participant.py",
        ("tests/network/test_participant.py", "tests/test_marks.py"),
        ("our own errors are told", "    except Exception as error:\n", "    except (OSError, ArithmeticError) as error:\n"),
        ("a log that quotes", "return kind_and_place(error)", 'return f"{kind_and_place(error)}: {error}"'),
    ),
    *_in(
        "protocol.py",
        ("tests/network/test_whole_run.py",),
        ("sessions of any plan", "terms.confirmed, terms.digest)", "terms.confirmed)"),
        ("queries without their arguments", " or name.startswith(PUBLIC)}", "}"),
        ("queries without their numbers", '("release", "number", "times", "statistic")', '("release", "times", "statistic")'),
        ("queries without their times", '("release", "number", "times", "statistic")', '("release", "number", "statistic")'),
    ),
    *_in(
        "terms.py",
        ("tests/network/test_terms.py",),
        ("a threshold of any size", "if terms.threshold < (least := self.least_threshold(sites, terms.colluders)):", "if False:"),
        (
            "a policy below what is safe",
            "return max(safe_threshold(sites, colluders), self.threshold or 0)",
            "return self.threshold or safe_threshold(sites, colluders)",
        ),
        ("any number of sites", "if sites < self.min_sites:\n            raise BudgetError", "if False:\n            raise BudgetError"),
    ),
    *_in(
        "quorum.py",
        ("tests/network/test_quorum.py",),
        ("nobody colludes", "return max(1, sites // 10) if sites > 1 else 0", "return 0 * sites"),
    ),
    *_in(
        "masks.py",
        ("tests/network/secure_sum/test_masks.py", "tests/network/test_whole_run.py"),
        ("a pair mask for all queries", '"pair mask", session, round_, query, *sorted', '"pair mask", session, round_, *sorted'),
    ),
    *_in(
        "session_terms.py",
        ("tests/network/test_whole_run.py", "tests/network/secure_sum/test_party.py"),
        ("a session that does not know its run", "int(self.confirmed), self.run)", "int(self.confirmed))"),
    ),
    *_in(
        "party.py",
        ("tests/network/secure_sum/test_party.py", "tests/network/test_whole_run.py"),
        (
            "confirmations of another query",
            'fields.statement("survivors", view, round_, self._query, *lists)',
            'fields.statement("survivors", view, round_, *lists)',
        ),
        (
            "confirmations where there are some",
            "        if self.terms.confirmed:\n            self._check_confirmed",
            "        if self.terms.confirmed and confirmations:\n            self._check_confirmed",
        ),
        ("fewer confirmations than the threshold", "if valid < self.terms.threshold:", "if valid < 1:"),
        ("another list than was confirmed", "if survivors != self._confirmed:", "if False:"),
    ),
    *_in(
        "remote.py",
        ("tests/network/test_journal.py",),
        (
            "sites are asked before it is written",
            "self._journal.write(query, pending)\n        return self._finished(pending, asked, query)",
            "total = self._finished(pending, asked, query)\n        self._journal.write(query, pending)\n        return total",
        ),
    ),
    *_in(
        "journal.py",
        ("tests/network/test_journal.py",),
        ("the pending sum of another query", 'if kept.get("query", bytes) != query_bytes(query):', "if False:"),
        (
            "the pending sum of another release",
            '(kept.get("run", str), kept.get("label", str)) == (self._run, label)',
            'kept.get("run", str) == self._run',
        ),
        (
            "the pending sum of another run",
            '(kept.get("run", str), kept.get("label", str)) == (self._run, label)',
            'kept.get("label", str) == label',
        ),
    ),
    *_in(
        "csv_files.py",
        ("tests/tables/test_one_row.py",),
        ("a quote that swallows the next line", """if b'"' in block or b"\\r" in block:""", "if False:"),
        ("types from the first rows", "column_types=dict.fromkeys(columns, pa.string()), ", ""),
    ),
    *_in(
        "csv_files.py",
        ("tests/tables/test_one_row.py",),
        (
            "a decoder that keeps its state",
            '[line.decode(self.encoding, "replace") for line in lines if',
            '[line for line in block.decode(self.encoding, "replace").split("\\n") if',
        ),
        ("a line feed that is spelt otherwise", 'kept = [text for text in texts if "\\n" not in text]', "kept = texts"),
    ),
    *_in(
        "client_files.py",
        ("tests/tables/test_client_files.py",),
        ("centers read as a client", "is_centers or is_release or", "is_release or"),
        ("the server table read as a client", "and not (server and server.exists() and path.samefile(server))", ""),
    ),
    *_in(
        "totals.py",
        ("tests/cli/test_budget.py",),
        ("the smallest table's total", "return [max((total_for(unit, group", "return [min((total_for(unit, group"),
        ("a run on several tables that counts for none", 'if entry.table in {name, ""}]', "if entry.table == name]"),
    ),
    *_in(
        "rehearsal.py",
        ("tests/cli/test_rehearsal.py",),
        (
            "a rehearsal on the real rows",
            "return replace(inputs, federation=InMemoryFederation(np.array_split(made, inputs.federation.n_clients)))",
            "return inputs",
        ),
    ),
    *_in(
        "csv_files.py",
        ("tests/tables/test_one_row.py",),
        ("a long line that is cut", "        if is_long(first):", "        if False:"),
    ),
    *_in(
        "cells.py",
        ("tests/tables/test_one_row.py",),
        (
            "a cell that depends on its neighbours",
            '    if decimal == ",":',
            "    if not pc.any(pc.match_substring(text, '.')).as_py():",
        ),
    ),
    *_in(
        "broken.py",
        ("tests/test_marks.py",),
        (
            "a reader's own words",
            'else "it is broken, or not what its name says"',
            "else str(error)",
        ),
    ),
    *_in(
        "in_memory.py",
        ("tests/test_marks.py::test_no_table_in_memory_is_quoted",),
        (
            "a cell in a message",
            "[column for index, column in enumerate(_names(points, array)) if _has_words(array[:, index])]",
            "[str(array[:, index].tolist()) for index in range(array.shape[1]) if _has_words(array[:, index])]",
        ),
    ),
    *_in(
        "compat.py",
        ("tests/network/deployment/test_child.py",),
        (
            "whatever begins like a known route",
            'known = (scope["method"], scope["path"]) in self._everybody',
            'known = any(scope["method"] == method and scope["path"].startswith(path) for method, path in self._everybody)',
        ),
        (
            "any method",
            'known = (scope["method"], scope["path"]) in self._everybody',
            'known = scope["path"] in {path for _, path in self._everybody}',
        ),
        ("any secret", "return len(proofs) == 1 and hmac.compare_digest(proofs[0], self._proof)", "return len(proofs) == 1"),
        ("the beginning of a secret", "hmac.compare_digest(proofs[0], self._proof)", "self._proof.startswith(proofs[0])"),
        ("more than a secret", "hmac.compare_digest(proofs[0], self._proof)", "proofs[0].startswith(self._proof)"),
        ("a route that had to be decoded", ' and scope.get("raw_path") == scope["path"].encode()', ""),
        ("a gate without a secret", "if len(secret) != _SECRET_LENGTH:", "if False:"),
        ("a proxy is believed", '"proxy_headers": False', '"proxy_headers": True'),
    ),
    *_in(
        "children.py",
        ("tests/network/deployment/test_processes.py", "tests/network/deployment/test_superlink.py"),
        (
            "our whole environment",
            'kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith("LC_")}',
            "kept = dict(os.environ)",
        ),
        ("a server without a gate", "if _status(port, _GUARDED, authority) != http.client.FORBIDDEN:", "if False:"),
    ),
    *_in(
        "site.py",
        ("tests/network/deployment/test_site.py",),
        (
            "keys and no confirmations",
            "confirmed=self.kit is not None if self.confirmed is None else self.confirmed,",
            "confirmed=bool(self.confirmed),",
        ),
        ("a site without its threshold", "            threshold=self.threshold,\n", ""),
        ("a site of any federation", "            min_sites=self.min_sites,\n", ""),
    ),
]
"""All of them. ``before`` is the very text of the source: a test says when one of them has moved."""
