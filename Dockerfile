# The image has the binary on a minimal Debian.
FROM oven/bun:1.4.5-slim AS build
WORKDIR /inboxd
COPY package.json bun.lock bunfig.toml ./
COPY patches patches
RUN bun install --frozen-lockfile --production
COPY tsconfig.json ./
COPY scripts scripts
COPY drizzle drizzle
COPY docs docs
COPY sdk sdk
COPY src src
RUN bun scripts/build.ts && mkdir data

FROM debian:bookworm-slim
RUN useradd --system --uid 10025 --home-dir /data --shell /usr/sbin/nologin inboxd
COPY --from=build /inboxd/dist/inboxd /usr/local/bin/inboxd
COPY --from=build --chown=10025:10025 --chmod=700 /inboxd/data /data
USER 10025:10025
WORKDIR /data
VOLUME /data
# Set BASE_URL too: links cannot point to 0.0.0.0.
ENV HOST=0.0.0.0 SMTP_HOST=0.0.0.0 DATA_DIR=/data
EXPOSE 3000 2525
HEALTHCHECK --interval=10s --timeout=5s --start-period=15s CMD ["inboxd", "healthcheck"]
ENTRYPOINT ["inboxd"]
CMD ["serve"]
