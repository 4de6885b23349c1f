import { Type } from 'typebox';

/** The environment variables of this package: to spread into the schema of a program that starts servers. */
export const localServerSettings = {
  NATS_SERVER_BIN: Type.Optional(
    Type.String({ description: 'the nats-server to start, instead of the one on PATH or a download' }),
  ),
  RUNLEDGER_CACHE_DIR: Type.Optional(
    Type.String({ description: 'an absolute path: where downloads are kept; ~/.cache/runledger otherwise' }),
  ),
};
