import { Type } from 'typebox';

/** The environment variables of this package: to spread into the schema of a program that starts servers. */
export const localServerSettings = {
  NATS_SERVER_BIN: Type.Optional(
    Type.String({ description: 'the nats-server to start, instead of the one on PATH or a download' }),
  ),
  NATS_SERVER_SHA256: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'in hex: a nats-server of NATS_SERVER_BIN or PATH with another SHA-256 is not started',
    }),
  ),
  RUNLEDGER_CACHE_DIR: Type.Optional(
    Type.String({ description: 'an absolute path: where downloads are kept; ~/.cache/runledger otherwise' }),
  ),
};
