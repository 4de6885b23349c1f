import { privateMongo } from '@runledger/testing/servers/mongo';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { readConnectionFile } from '../../../src/data-folder/connection-files.ts';
import { runApi } from '../../fixtures/run-api.ts';
import { spawnStandalone } from '../../fixtures/start-standalone.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const WITHIN = { withinMs: 90_000 };

it(
  'waits for MongoDB, continues when it comes, and its runs end and are listed',
  { timeout: 200_000 },
  async (context) => {
    const mongo = await privateMongo();
    if (mongo.kind === 'unavailable') return context.skip(mongo.reason);
    await using server = mongo;
    await server.kill9();
    const folder = temporaryFolder();
    const url = new URL(server.url);
    url.pathname = '/runledger';
    const standalone = spawnStandalone(folder, { MONGODB_URL: url.href });
    await using open = new AsyncDisposableStack();
    open.defer(async () => {
      standalone.signal('SIGINT');
      expect(await standalone.ended).toBe(0);
    });
    const says = (words: string) =>
      waitFor(`it to say "${words}"`, () => standalone.output().includes(words), WITHIN);

    await says(
      `Waiting for MongoDB at mongodb://127.0.0.1:${server.port}/runledger (MONGODB_URL): connect ECONNREFUSED`,
    );
    expect((await readConnectionFile(folder)).kind).toBe('missing');
    await server.restart();
    await says('MongoDB answers.\n');
    await says('Runledger is ready.');
    expect(standalone.output().match(/Waiting for MongoDB/g)).toHaveLength(1);

    const connection = await readConnectionFile(folder);
    if (connection.kind !== 'found') throw new Error('A ready standalone has no connection.json.');
    const api = runApi(connection.content);
    const run = await api.queue({ size: 64, seconds: 0 });
    expect(await api.ended(run, WITHIN.withinMs)).toMatchObject({ status: 'success' });
    const listed = await fetch(`${connection.content.url}/runs?status=success`, {
      headers: { authorization: `Bearer ${connection.content.api_key}` },
    });
    expect(await listed.json()).toMatchObject({ runs: [{ id: run }] });
  },
);
