# One image for both sides of a federation: `feddp serve` on the server, `feddp join` at a site. See docs/operate.md.
# Any base with Python 3.11 or newer and its venv module will do: docker build --build-arg BASE=registry.example.org/python:3.12 .
ARG BASE=python:3.11-slim
FROM ${BASE}

WORKDIR /src
COPY pyproject.toml build_kernels.py constraints.txt README.md LICENSE ./
COPY src ./src
RUN python3 -m venv /opt/feddp \
    && PIP_CONSTRAINT=/src/constraints.txt /opt/feddp/bin/pip install --no-cache-dir ".[flower]" \
    && rm -rf /src
COPY deploy/health.py /opt/feddp/health.py

# Data, keys and state are mounted, never part of the image. A container runs as the user who may read them (--user), whose number need not
# be known here: what it writes goes to /tmp and /state.
RUN useradd --no-create-home --uid 10001 feddp && mkdir /data && mkdir -m 1777 /state
USER 10001
WORKDIR /state
ENV PATH=/opt/feddp/bin:$PATH HOME=/tmp USER=feddp OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
HEALTHCHECK --interval=30s --timeout=10s --start-period=2m CMD ["/opt/feddp/bin/python", "-I", "/opt/feddp/health.py"]
ENTRYPOINT ["feddp"]
CMD ["--help"]
