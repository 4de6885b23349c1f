import { MAX_ERROR_MESSAGE } from '@runledger/contracts/limits';
import { NEW_RUN_BYTES, reservedBytes, newRunsLimit } from '@runledger/contracts/fold/log-capacity';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { cancelRequested, timedOut } from '@runledger/testing/run-events';
import { webhookGivenUp, webhookStarted } from '@runledger/testing/webhook-events';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { post, type ApiAnswer } from '../../fixtures/requests/requests.ts';
import { appendAll, appendWebhook } from '../../fixtures/runs/appended-facts.ts';
import { queueKeyed, runIn } from '../../fixtures/runs/queued-runs.ts';

const MiB = 1024 ** 2;
const nanos = (ms: number): number => ms * 1_000_000;

/** As large as what is stored of a run can be, so that few runs fill a log. */
const LARGE = { inputs: { text: 'x'.repeat(3_500) } };

const ask = ({ api }: TestGateway, { tenant }: TestBed, fields: object = LARGE): Promise<ApiAnswer> =>
  post(`${api}/run/deployment/queue`, tenant.key, { deployment_id: tenant.deployment.id, ...fields });

/** Queues runs until one is refused. */
const fill = async (gateway: TestGateway, bed: TestBed): Promise<{ runs: RunKey[]; refused: ApiAnswer }> => {
  const runs: RunKey[] = [];
  for (;;) {
    const answer = await ask(gateway, bed);
    if (answer.status !== 200) return { runs, refused: answer };
    runs.push(runIn(bed.tenant, answer));
  }
};

/** Queues runs, ten at once, each of which is accepted, until this holds. */
const queueUntil = async (
  gateway: TestGateway,
  bed: TestBed,
  holds: () => Promise<boolean>,
): Promise<RunKey[]> => {
  const runs: RunKey[] = [];
  while (!(await holds())) {
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(gateway, bed)));
    runs.push(...answers.map((answer) => runIn(bed.tenant, answer)));
  }
  return runs;
};

const endAll = async ({ log }: TestBed, runs: readonly RunKey[]): Promise<void> =>
  void (await Promise.all(runs.map((key) => appendAll(log, cancelRequested(key)))));

const bytesOf = async ({ log }: TestBed): Promise<number> => (await runsIdentity(log)).bytes;

describe('a log with no room for another run', () => {
  it('refuses it with what to do, and has room for the largest end and outcome of every accepted one', async () => {
    await using bed = await openTestBed({ runsMaxBytes: MiB });
    const gateway = await bed.gateway();
    const { runs, refused } = await fill(gateway, bed);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
    expect(refused.body.code).toBe('log_full');
    expect(refused.body.detail).toMatch(/no room for a new run .* Nothing was queued.*runsMaxBytes/);
    expect(runs.length).toBeGreaterThan(40);
    for (const key of runs) {
      const end = timedOut(key, 'start_deadline');
      const message = 'x'.repeat(MAX_ERROR_MESSAGE);
      await appendAll(bed.log, { ...end, data: { ...end.data, message } });
      await appendWebhook(bed.log, webhookStarted(key), webhookGivenUp(key, 1, { message }));
    }
    expect(await bytesOf(bed)).toBeLessThan(MiB);
  });

  it('answers the repetition of an accepted request with its run', async () => {
    await using bed = await openTestBed({ runsMaxBytes: MiB });
    const gateway = await bed.gateway();
    const first = await queueKeyed(gateway, bed.tenant, 'one');
    await fill(gateway, bed);
    const again = await queueKeyed(gateway, bed.tenant, 'one');
    expect([again.status, again.body.run_id]).toEqual([200, first.body.run_id]);
    expect((await queueKeyed(gateway, bed.tenant, 'two')).status).toBe(503);
  });

  it('refuses redeliveries, which would use the room of ends', async () => {
    await using bed = await openTestBed({ runsMaxBytes: MiB });
    const gateway = await bed.gateway();
    const { run_id } = runIn(
      bed.tenant,
      await ask(gateway, bed, { webhook: 'https://receiver.example/hook' }),
    );
    await post(`${gateway.api}/run/${run_id}/cancel`, bed.tenant.key);
    const redeliver = () => post(`${gateway.api}/run/${run_id}/redeliver`, bed.tenant.key);
    expect((await redeliver()).status).toBe(200);
    await fill(gateway, bed);
    const refused = await redeliver();
    expect([refused.status, refused.body.detail]).toEqual([503, expect.stringContaining('no room')]);
  });

  it('accepts runs again when others have ended', async () => {
    await using bed = await openTestBed({ runsMaxBytes: MiB });
    const gateway = await bed.gateway();
    const { runs } = await fill(gateway, bed);
    await endAll(bed, runs);
    const more = await fill(gateway, bed);
    expect(more.runs.length).toBeGreaterThan(runs.length / 2);
  });

  it('accepts runs again when old ones have expired', async () => {
    await using bed = await openTestBed({ runsMaxBytes: MiB });
    const gateway = await bed.gateway();
    const live = async (number: number): Promise<boolean> =>
      new RegExp(`^runledger_gateway_runs_live\\S* ${number}$`, 'm').test(await gateway.metrics.metrics());
    // Each round ends its runs, so that in the end nothing is reserved, and the log is full of what is stored. What expires before it
    // is counted would be missing in the count, which is behind at times: it has the ends when it has had the runs.
    for (let round = await fill(gateway, bed); round.runs.length > 0; round = await fill(gateway, bed)) {
      await waitFor('the runs of a round to be counted', () => live(round.runs.length));
      await endAll(bed, round.runs);
      await waitFor('their ends to be counted', () => live(0));
    }
    expect((await ask(gateway, bed)).status).toBe(503);
    // Long enough for the runs: a gateway looks again after a minute.
    const { max_age } = (await bed.log.jsm.streams.info('RUNS')).config;
    const expireEarly = { max_age: nanos(100), duplicate_window: nanos(100) };
    await bed.log.jsm.streams.update('RUNS', expireEarly);
    await waitFor('the old runs to expire', async () => (await bytesOf(bed)) === 0);
    await bed.log.jsm.streams.update('RUNS', { max_age });
    const runs: RunKey[] = [];
    // What has expired is no longer counted a moment later.
    await waitFor('many runs to be accepted', async () => {
      runs.push(...(await fill(gateway, bed)).runs);
      return runs.length > 40;
    });
    await waitFor('the runs to be counted', () => live(runs.length));
  });

  it('is never exceeded by concurrent requests at several gateways by more than they accept at one moment', async () => {
    await using bed = await openTestBed({ runsMaxBytes: 2 * MiB });
    const gateways = await Promise.all([bed.gateway(), bed.gateway()]);
    const rounds = Array.from({ length: 4 }, async () => {
      for (const gateway of gateways) await fill(gateway, bed);
    });
    await Promise.all(rounds);
    const [one] = gateways;
    const counted = async (name: string): Promise<number> =>
      Number(new RegExp(`^${name}\\S* (\\d+)$`, 'm').exec((await one?.metrics.metrics()) ?? '')?.[1]);
    const live = await counted('runledger_gateway_runs_live');
    const used = (await bytesOf(bed)) + reservedBytes({ live, executing: 0 });
    expect(await counted('runledger_gateway_log_reserved_bytes')).toBe(reservedBytes({ live, executing: 0 }));
    const most = newRunsLimit(2 * MiB) + rounds.length * NEW_RUN_BYTES;
    expect(used).toBeLessThan(most);
  });
});

describe('a gateway far from the limit', () => {
  /** Whether a consumer of the log reads no bodies. */
  const isCounting = async ({ log }: TestBed): Promise<boolean> => {
    for await (const { config } of log.jsm.consumers.list('RUNS')) if (config.headers_only) return true;
    return false;
  };

  it('has the counts of the views, and counts by itself near the limit only', async () => {
    await using bed = await openTestBed({ runsMaxBytes: 40 * MiB });
    const gateway = await bed.gateway({ projecting: true });
    const runs = await Promise.all(Array.from({ length: 20 }, () => ask(gateway, bed)));
    expect(runs.map(({ status }) => status)).toEqual(runs.map(() => 200));
    await waitFor('the views to have the runs', async () =>
      /^runledger_gateway_runs_live\S* 20$/m.test(await gateway.metrics.metrics()),
    );
    expect(await isCounting(bed)).toBe(false);
    await bed.log.jsm.streams.update('RUNS', { max_bytes: 2 * MiB });
    const { refused } = await fill(gateway, bed);
    expect(refused.status).toBe(503);
    await waitFor('the gateway to count by itself', () => isCounting(bed));
  });

  it('counts by itself while the views are far behind', async () => {
    await using bed = await openTestBed({ runsMaxBytes: 40 * MiB });
    const gateway = await bed.gateway();
    const runs = await queueUntil(gateway, bed, () => isCounting(bed));
    expect((await ask(gateway, bed)).status).toBe(200);
    await waitFor('the runs to be counted', async () =>
      new RegExp(`^runledger_gateway_runs_live\\S* ${runs.length + 1}$`, 'm').test(
        await gateway.metrics.metrics(),
      ),
    );
  });
});

describe('a gateway that starts', () => {
  it('knows the runs of the log, with views that have counted them and without', async () => {
    await using bed = await openTestBed({ runsMaxBytes: MiB });
    const first = await bed.gateway({ projecting: true });
    await fill(first, bed);
    await waitFor('the views to have everything', async () => {
      const position = await first.views.position();
      return position?.sequence === (await runsIdentity(bed.log)).lastSequence;
    });
    const position = await first.views.position();
    expect(position?.counts.live).toBeGreaterThan(40);
    for (const options of [{ views: first.views }, {}]) {
      const next = await bed.gateway(options);
      const answer = await ask(next, bed);
      expect(answer.status).toBe(503);
    }
  });
});
