# kbsync as a daemon: one static program in an otherwise empty image, for a user without rights.
#
#   docker build -t kbsync .
#   docker run -v ./help:/mirror -v kbsync-state:/state \
#     -e KBSYNC_SERVICE=https://kb.example.com -e KBSYNC_WORKSPACE=… -e KBSYNC_TOKEN=… kbsync

# The compiler's image. A tag can come to mean another image; a digest cannot. `docker buildx imagetools inspect
# rust:1.95-alpine` prints the digest of today, and a release is built with
#   --build-arg RUST_IMAGE=rust:1.95-alpine@sha256:…
ARG RUST_IMAGE=rust:1.95-alpine

FROM ${RUST_IMAGE} AS build
# SQLite and zstd are built from source. The base image's tag decides which compiler that is.
# hadolint ignore=DL3018
RUN apk add --no-cache musl-dev gcc make
WORKDIR /build
# The allocator returns freed pages to the system at once: the daemon rests for nearly all of its life.
ENV JEMALLOC_SYS_WITH_MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0

# The dependencies alone, so that a change of ours builds only what is ours.
COPY Cargo.toml Cargo.lock ./
RUN mkdir -p src tests/it benches \
 && touch src/lib.rs tests/it/main.rs benches/cycle.rs benches/idle.rs benches/latency.rs benches/lost_updates.rs \
 && echo 'fn main() {}' > src/main.rs \
 && cargo build --locked --profile dist --features jemalloc \
 && rm -rf src

COPY src src
COPY docs/guide docs/guide
COPY README.md ./
# Cargo goes by times, and ours may be older than those of the empty files.
RUN touch src/main.rs src/lib.rs \
 && cargo build --locked --profile dist --features jemalloc \
 && mkdir -p /out/mirror \
 && mkdir -m 1777 /out/state

FROM scratch
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="kbsync" \
      org.opencontainers.image.description="Keeps a folder of HTML files and a hosted knowledge base equal, in both directions" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

COPY --from=build /build/target/dist/kbsync /kbsync
# Volumes take over the owner and the rights of the folder that they cover; the state is for whoever the container runs as.
# Copied from above, the folders keep their rights; each by itself would be given new ones.
COPY --from=build --chown=10001:10001 /out/ /

USER 10001:10001
WORKDIR /mirror
VOLUME ["/mirror", "/state"]
# The state of the mirror is in it; the budget of requests must outlive the container.
ENV KBSYNC_DIR=/mirror \
    KBSYNC_USER_STATE_DIR=/state
EXPOSE 7575
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 CMD ["/kbsync", "doctor", "--health"]
ENTRYPOINT ["/kbsync"]
CMD ["run", "--log-format", "json"]
