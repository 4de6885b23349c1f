import { openBlobStores } from '@runledger/blob-store/blob-stores';
import { newUuid } from '@runledger/contracts/ids';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { lifecycleFilter, runEventSubject, type RunKey } from '@runledger/contracts/events/subjects';
import { append } from '@runledger/event-log/append/append';
import {
  assigned,
  deleted,
  outputsDeleted,
  queued,
  started,
  succeeded,
  aRun,
} from '@runledger/testing/run-events';
import { webhookDelivered, webhookStarted } from '@runledger/testing/webhook-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aRealGateway, type RealGateway } from '../fixtures/real-gateway.ts';
import { cliWith, type Cli, type Result } from '../fixtures/run-cli.ts';
import { storeFacts } from '../fixtures/stored-facts.ts';

let gateway: RealGateway;
let cli: Cli;
beforeAll(async () => {
  gateway = await aRealGateway();
  cli = cliWith(gateway.nats.env);
});
afterAll(() => gateway[Symbol.asyncDispose]());

const ownRun = (): RunKey => aRun(gateway.org_id);
/** As the executor writes it. */
const byExecutor = <Event extends RunEvent>(event: Event): Event => ({
  ...event,
  writer: { ...event.writer, service: 'gpu-executor' },
});
const store = (...facts: Parameters<typeof storeFacts>[1][]): Promise<number> =>
  storeFacts(gateway.log, ...facts);
const wholeRun = async (): Promise<RunKey> => {
  const run = ownRun();
  await store(queued(run), assigned(run), byExecutor(started(run)), byExecutor(succeeded(run)));
  return run;
};
const verified = (run: RunKey, ...more: readonly string[]): Promise<Result> =>
  cli(['verify', '--run', run.run_id, ...more]);

describe('runledger verify', () => {
  it('finds nothing in a log and its views as services make them', async () => {
    const notified = ownRun();
    await store(
      queued(notified, { webhook: 'https://example.com/hook' }),
      assigned(notified),
      byExecutor(started(notified)),
      byExecutor(succeeded(notified)),
    );
    const sent = await append(gateway.log, webhookStarted(notified), 0);
    if (sent.kind !== 'appended') throw new Error('it came second');
    await append(gateway.log, webhookDelivered(notified), sent.sequence);
    const gone = await wholeRun();
    await store(outputsDeleted(gone), deleted(gone));
    const waiting = ownRun();
    await store(queued(waiting));
    const { code, stdout, stderr } = await cli(['verify', '--no-blobs']);
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toBe('3 runs with 13 messages verified: no difference.\n');
    expect(await verified(waiting, '--no-blobs')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('1 run with 1 message verified'),
    });
  });

  it('tells messages that are no facts, and facts that another service wrote', async () => {
    const run = await wholeRun();
    await gateway.log.js.publish(runEventSubject(started(run)), JSON.stringify(started(run)));
    const forged = await verified(run);
    expect([forged.code, forged.stderr]).toEqual([1, expect.stringContaining('1 difference.')]);
    expect(forged.stdout).toMatch(
      new RegExp(
        `^Run ${run.run_id}: the message at \\d+ is no fact of it: the append was fenced on nothing`,
      ),
    );
    const other = ownRun();
    await store(queued(other), { ...assigned(other), writer: { service: 'notifier', instance: 'x' } });
    expect((await verified(other)).stdout).toContain(
      'RunAssigned, says that notifier wrote it, and only scheduler may',
    );
  });

  it('tells facts that do not have the hash of what they follow', async () => {
    const run = ownRun();
    const first = await store(queued(run));
    const stored = async (event: RunEvent): Promise<string> => {
      await gateway.log.js.publish(runEventSubject(event), JSON.stringify(event), {
        expect: { lastSubjectSequence: first, lastSubjectSequenceSubject: lifecycleFilter(run) },
      });
      return (await verified(run, '--no-blobs')).stdout;
    };
    expect(await stored({ ...assigned(run), previous_sha256: 'x'.repeat(43) })).toContain(
      `RunAssigned, was written behind another content of the message at ${first}: one of the two was changed`,
    );
    const other = ownRun();
    const before = await store(queued(other));
    const event = assigned(other);
    await gateway.log.js.publish(runEventSubject(event), JSON.stringify(event), {
      expect: { lastSubjectSequence: before, lastSubjectSequenceSubject: lifecycleFilter(other) },
    });
    expect((await verified(other, '--no-blobs')).stdout).toContain(
      'RunAssigned, does not have the hash of what it follows',
    );
  });

  it('tells blobs that are missing', async () => {
    const run = ownRun();
    const sha256 = 'b'.repeat(64);
    const inputs = { inputs: null, inputs_blob: { sha256, bytes: 5_000 } };
    await store(queued(run, inputs));
    const { code, stdout } = await verified(run);
    expect(code).toBe(1);
    expect(stdout).toContain(`its inputs, the blob ${sha256}, is not in the store`);
    expect(stdout).toContain('its workflow, the blob');
    const stored = await openBlobStores(gateway.log).blobs.put(
      gateway.org_id,
      new TextEncoder().encode('{}'),
    );
    const kept = ownRun();
    await store(
      queued(kept, { inputs: null, inputs_blob: stored }),
      assigned(kept),
      byExecutor(started(kept)),
      byExecutor(succeeded(kept)),
    );
    expect(await verified(kept)).toMatchObject({ code: 0 });
  });

  it('verifies a part of the runs, the same each time, and refuses what is no part', async () => {
    for (let n = 0; n < 20; n += 1) await wholeRun();
    const count = async (part: string): Promise<number> =>
      Number(/^(\d+) runs?/.exec((await cli(['verify', '--sample', part, '--no-blobs'])).stderr)?.[1]);
    const all = await count('100%');
    const half = await count('50%');
    expect(half).toBeGreaterThan(0);
    expect(half).toBeLessThan(all);
    expect(await count('50%')).toBe(half);
    expect((await cli(['verify', '--sample', '0'])).stderr).toContain('--sample 0 is not a part of all runs');
  });

  it.each([
    ['x', '"x" is not a run id'],
    [newUuid(), 'The log has no run'],
  ])('refuses %s with a sentence', async (run, sentence) => {
    expect(await cli(['verify', '--run', run])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(sentence),
    });
  });
});
