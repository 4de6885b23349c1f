import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fillDisk, whyNoSmallDisk, withSmallDisk } from '@runledger/testing/servers/small-disk';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { historiesOf } from '../fixtures/log-of.ts';
import { descendantsOf } from '../fixtures/processes.ts';
import { runApi, type RunShown } from '../fixtures/run-api.ts';
import { startStandalone, type Standalone } from '../fixtures/start-standalone.ts';

const DISK_BYTES = 48 * 1024 ** 2;
const RUNS = 6;
/** Services wait 12 s for a broker that does not answer. */
const LONG_WAIT = { withinMs: 60_000 };

const storeOf = (dataFolder: string): string => join(dataFolder, 'nats');
const brokerOf = ({ pid }: Standalone): number | undefined => descendantsOf(pid, 'nats-server.conf')[0];

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: Readonly<Record<string, unknown>>;
}

const askToQueue = async ({ url, api_key, deployment_id }: Standalone): Promise<Answer> => {
  const answer = await fetch(`${url}/run/deployment/queue`, {
    method: 'POST',
    headers: { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ deployment_id, inputs: { seconds: 0, size: 16 } }),
  });
  return {
    status: answer.status,
    retryAfter: answer.headers.get('retry-after'),
    body: Object(await answer.json()),
  };
};

describe('a standalone with a full disk', () => {
  it(
    'accepts no run, shows all runs and loses none; with free space everything continues by itself',
    { timeout: 150_000 },
    async (context) => {
      const why = whyNoSmallDisk();
      if (why !== undefined) return context.skip(why);
      await using standalone = await startStandalone({
        // Its root has no other user to give to programs.
        env: { EXECUTOR_GPUS: 'A10G:2', EXECUTOR_ISOLATION: 'off' },
        through: (dataFolder) => withSmallDisk(storeOf(dataFolder), DISK_BYTES),
      });
      const api = runApi(standalone);
      const runs = await Promise.all(Array.from({ length: RUNS }, () => api.queue({ seconds: 1, size: 16 })));
      const statuses = async (): Promise<string[]> =>
        (await Promise.all(runs.map((run) => api.get(run)))).map(({ status }) => status);
      /** The answer unless it is 200. */
      const refusal = async (): Promise<Answer | undefined> => {
        const answer = await askToQueue(standalone);
        if (answer.status !== 200) return answer;
        runs.push(String(answer.body['run_id']));
        return undefined;
      };

      await waitFor('a run to start', async () => (await statuses()).includes('running'));
      const broker = brokerOf(standalone);
      const freeSpace = fillDisk(standalone.pid, storeOf(standalone.dataFolder));
      const refused = await waitFor('a run to be refused', refusal, LONG_WAIT);
      expect([refused.status, refused.retryAfter]).toEqual([503, '2']);
      expect(refused.body['detail']).toContain('Try again');
      expect(await statuses()).toHaveLength(runs.length);
      await waitFor('the terminal to show it', () => standalone.output().includes('is full: 0 MiB are left'));
      // Without free space, a restart would change nothing.
      expect(brokerOf(standalone)).toBe(broker);

      freeSpace();
      await waitFor('a run to be accepted', async () => (await refusal()) === undefined, LONG_WAIT);
      expect(brokerOf(standalone)).not.toBe(broker);
      const shown: RunShown[] = [];
      for (const run of runs) shown.push(await api.ended(run, LONG_WAIT.withinMs));
      expect(shown.map(({ status }) => status)).toEqual(runs.map(() => 'success'));
      for (const { facts } of await historiesOf(standalone.dataFolder, shown)) {
        expect(facts.filter(({ event }) => event.type === 'RunSucceeded')).toHaveLength(1);
      }
    },
  );
});

describe('a standalone with a full disk for output files', () => {
  it('ends a run that has files at once, refuses uploads, and says which store is full; with free space the next ones succeed', async (context) => {
    const why = whyNoSmallDisk();
    if (why !== undefined) return context.skip(why);
    await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-outputs-'));
    await using standalone = await startStandalone({
      env: {
        EXECUTOR_GPUS: 'A10G:1',
        EXECUTOR_ISOLATION: 'off',
        RUNLEDGER_OUTPUTS: 'directory',
        RUNLEDGER_OUTPUTS_DIRECTORY: folder.path,
      },
      through: () => withSmallDisk(folder.path, DISK_BYTES),
    });
    const api = runApi(standalone);
    const freeSpace = fillDisk(standalone.pid, folder.path);
    const full = await api.ended(await api.queue({ seconds: 0, size: 16 }), LONG_WAIT.withinMs);
    expect(full).toMatchObject({
      status: 'failed',
      end_reason: 'storage_full',
      error: {
        kind: 'storage_full',
        message: expect.stringContaining('The disk of the output files is full'),
      },
    });
    const upload = (): Promise<Response> =>
      fetch(`${standalone.url}/files`, {
        method: 'POST',
        headers: { authorization: `Bearer ${standalone.api_key}` },
        body: Buffer.alloc(1024 ** 2, 'x'),
      });
    const refused = await upload();
    expect([refused.status, await refused.json()]).toEqual([
      507,
      {
        detail: expect.stringContaining('The disk of the output files is full'),
        code: 'output_store_full',
        request_id: expect.any(String),
      },
    ]);
    freeSpace();
    expect((await upload()).status).toBe(201);
    const next = await api.ended(await api.queue({ seconds: 0, size: 16 }), LONG_WAIT.withinMs);
    expect(next).toMatchObject({ status: 'success', end_reason: 'completed' });
  });
});
