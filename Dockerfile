# One image for both sides of a federation: `feddp serve` on the server, `feddp join` at a site. See docs/deploy.md.
FROM python:3.11-slim

WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir --constraint constraints.txt ".[flower]" && rm -rf /src

# No root inside; data, keys and state are mounted, never part of the image.
RUN useradd --create-home feddp && mkdir /data /state && chown feddp /state
USER feddp
WORKDIR /home/feddp
ENV OMP_NUM_THREADS=1
ENTRYPOINT ["feddp"]
CMD ["--help"]
