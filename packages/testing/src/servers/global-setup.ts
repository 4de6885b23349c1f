import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findNatsServer, type NatsServerBinary } from '@runledger/local-servers/find-nats-server';
import { readConfig } from '@runledger/service-kit/config';
import { messageOf } from '@runledger/resilience/errors';
import { Type } from 'typebox';
import type { TestProject } from 'vitest/node';
import { environment } from './environment.ts';
import { SHARED_BROKERS_FOLDER } from './nats-account.ts';
import { serversFolder } from './servers-folder.ts';
import { openSharedS3 } from './shared-s3.ts';
import { openSharedMongo, type SharedMongo } from './shared-mongo.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The source of the nats-server of this run. */
    natsServerSource: NatsServerBinary['source'];
  }
}

const settingsSchema = Type.Object({
  RUNLEDGER_SKIP_MONGODB: Type.Boolean({ default: false, description: 'skip the tests that need MongoDB' }),
});

const open = new AsyncDisposableStack();

/** Finds the servers for all tests before the first test, and prints which they are. */
export const setup = async (project: TestProject): Promise<void> => {
  const nats = await findNatsServer({ env: environment, onProgress: say });
  say(`nats-server ${nats.version} from ${nats.source} (${nats.path})`);
  environment['NATS_SERVER_BIN'] = nats.path;
  project.provide('natsServerSource', nats.source);
  environment[SHARED_BROKERS_FOLDER] = await folderOfSharedBrokers();

  project.provide('sharedS3', await openSharedS3(environment, open));
  const mongo = await sharedMongo();
  project.provide('sharedMongo', mongo);
  if (mongo === null) {
    say('WARNING: RUNLEDGER_SKIP_MONGODB=1. The tests that need MongoDB are skipped.');
  } else {
    say(`MongoDB from ${mongo.source}`);
  }
};

export const teardown = (): Promise<void> => open.disposeAsync();

/** vitest ends a worker, and so its broker, without a chance to remove anything. */
const folderOfSharedBrokers = async (): Promise<string> => {
  const folder = await mkdtemp(join(await serversFolder(), 'runledger-test-shared-nats-'));
  // A broker may still be writing when its worker has ended.
  open.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
};

const sharedMongo = async (): Promise<SharedMongo | null> => {
  if (readConfig(settingsSchema, environment).RUNLEDGER_SKIP_MONGODB) return null;
  try {
    return await openSharedMongo(environment, open, say);
  } catch (error) {
    const why = messageOf(error);
    throw new Error(`${why}\nOr set RUNLEDGER_SKIP_MONGODB=1 to skip the tests that need MongoDB.`, {
      cause: error,
    });
  }
};

const say = (sentence: string): void => {
  process.stdout.write(`[test servers] ${sentence}\n`);
};
