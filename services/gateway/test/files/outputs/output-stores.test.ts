import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { testBucket } from '@runledger/testing/servers/s3';
import { readGatewayConfig } from '../../../src/config.ts';
import { openOutputStore } from '../../../src/files/output-stores.ts';
import { elementsOf, s3Requests, s3BucketOf } from '../../../src/files/stores/s3-requests.ts';
import { aLog } from '../../fixtures/gateway/a-log.ts';
import { outputStoreConformance } from './output-store.conformance.ts';

const now = (): Date => new Date();
const configOf = (environment: Record<string, string>) =>
  readGatewayConfig({
    NATS_URL: 'nats://127.0.0.1:1',
    RUNLEDGER_SECRET_KEYS: 'A'.repeat(43) + '=',
    ...environment,
  });

outputStoreConformance('JetStream', async () => {
  const { log, ...bed } = await aLog();
  return {
    open: () => openOutputStore(configOf({}), { log, logger: silentLogger, now }).store,
    size: async () => {
      const filter = { subjects_filter: '$O.OUTPUTS.>' };
      const { state } = await log.jsm.streams.info('OBJ_OUTPUTS', filter);
      return Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
    },
    [Symbol.asyncDispose]: () => bed[Symbol.asyncDispose](),
  };
});

outputStoreConformance('a directory', async () => {
  await using open = new AsyncDisposableStack();
  const { log } = open.use(await aLog());
  const root = await mkdtemp(join(tmpdir(), 'runledger-outputs-'));
  open.defer(() => rm(root, { recursive: true }));
  const config = configOf({ RUNLEDGER_OUTPUTS: 'directory', RUNLEDGER_OUTPUTS_DIRECTORY: root });
  const kept = open.move();
  return {
    open: () => kept.use(openOutputStore(config, { log, logger: silentLogger, now }).store),
    size: async () =>
      (await readdir(root, { recursive: true, withFileTypes: true })).filter((one) => one.isFile()).length,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
});

outputStoreConformance('an S3 bucket', async () => {
  await using open = new AsyncDisposableStack();
  const { log } = open.use(await aLog());
  const bucket = await testBucket();
  const config = configOf(bucket.env);
  const { ask } = s3Requests(s3BucketOf(config, 'RUNLEDGER_OUTPUTS'));
  const kept = open.move();
  return {
    open: () => kept.use(openOutputStore(config, { log, logger: silentLogger, now }).store),
    size: async () => {
      const [objects, uploads] = await Promise.all([
        ask({ method: 'GET', query: { 'list-type': '2', prefix: bucket.prefix } }),
        ask({ method: 'GET', query: { uploads: '', prefix: bucket.prefix } }),
      ]);
      return elementsOf(objects.text, 'Key').length + elementsOf(uploads.text, 'UploadId').length;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
});
