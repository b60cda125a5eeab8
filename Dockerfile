# The build context is the folder that `npm run release:pack -- FOLDER` writes. Run: docker build FOLDER
FROM node:24-bookworm-slim AS install
WORKDIR /app
COPY signalbox-[0-9]*.tgz signalbox-bridge-*.tgz ./
# The image needs no compiler, because the packages of SQLite contain binaries.
RUN npm install --omit=dev --no-audit --no-fund --no-package-lock ./*.tgz

FROM node:24-bookworm-slim
LABEL org.opencontainers.image.title="Signalbox" \
      org.opencontainers.image.description="The trigger hub for AI agents." \
      org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production HOST=0.0.0.0 PORT=4747 SIGNALBOX_DATA=/data
WORKDIR /app
COPY --from=install /app/node_modules ./node_modules
RUN install --directory --owner=node --group=node --mode=700 /data
USER node
VOLUME /data
EXPOSE 4747
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# The flag keeps memory steady under load.
ENTRYPOINT ["node", "--max-semi-space-size=16", "node_modules/signalbox/bin/signalbox.js"]
CMD ["serve"]
