import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testNats, type TestNats } from '@runledger/testing/servers/nats';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { openEventLog, type EventLog } from '../../../src/connect/event-log.ts';
import { silentLogger } from '../../../src/connect/observability.ts';
import {
  describeAccepted,
  logEndNotes,
  lostFacts,
  type LostFacts,
} from '../../../src/provision/lost-facts.ts';
import { OtherLoss, provision } from '../../../src/provision/provision.ts';
import { openServiceLog, type ServiceLogOptions } from '../../../src/provision/service-log.ts';
import { queueRuns } from '../../fixtures/queued-runs.ts';

/** The files in which nats-server keeps RUNS, in their order. */
const blocksOf = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.blk') && path.includes('/RUNS/'))
    .map((path) => join(folder, path))
    .toSorted((a, b) => Number(/(\d+)\.blk$/.exec(a)?.[1]) - Number(/(\d+)\.blk$/.exec(b)?.[1]));

const flipBit = (file: string, at: number): void => {
  const bytes = readFileSync(file);
  const position = Math.floor(bytes.length * at);
  bytes.writeUInt8(bytes.readUInt8(position) ^ 4, position);
  writeFileSync(file, bytes);
};

const operatorOf = (nats: TestNats): Promise<EventLog> =>
  openEventLog({ url: nats.url, name: 'operator' }, silentLogger);

/** A broker that was killed, lost a bit on its disk, and is back. */
const damaged = async (nats: TestNats, runs: number, flip: (blocks: string[]) => void): Promise<void> => {
  {
    await using operator = await operatorOf(nats);
    await provision(operator, { runsMaxBytes: 120_000 });
    await queueRuns(operator, runs);
    await logEndNotes(operator)();
    expect(await lostFacts(operator)).toBeUndefined();
  }
  await nats.kill9();
  flip(blocksOf(nats.folder));
  await nats.restart();
};

const opening = (nats: TestNats, open: AsyncDisposableStack) => {
  const lost: LostFacts[] = [];
  const begun: ServiceLogOptions = {
    config: { NATS_URL: nats.url },
    instance: 'service-1',
    logger: silentLogger,
    checks: {},
    onLost: async (facts) => void lost.push(facts),
  };
  return { begun, lost, opened: openServiceLog(begun, open, new AbortController().signal) };
};

it('a service waits when the log has lost its end, until an operator does without exactly that', async () => {
  await using nats = await testNats();
  await damaged(nats, 20, (blocks) => flipBit(blocks.at(-1) ?? '', 0.6));
  await using open = new AsyncDisposableStack();
  const { begun, lost, opened } = opening(nats, open);
  const [facts] = await waitFor('the loss', () => lost.length > 0 && lost);
  const [[first] = [0]] = facts?.ranges ?? [];
  expect(first).toBeGreaterThan(1);
  expect(facts).toEqual({
    ranges: [[first, 20]],
    between: [expect.stringMatching(/^2/), expect.stringMatching(/^2/)],
  });
  expect(await begun.checks['log']?.()).toEqual({
    ok: false,
    why: expect.stringMatching(
      new RegExp(
        `has lost ${21 - first} facts before their time: RUNS ${first}-20, stored after 2.* until 2.*`,
      ),
    ),
  });

  await using operator = await operatorOf(nats);
  await expect(provision(operator, {}, { acceptLoss: '1-20' })).rejects.toBeInstanceOf(OtherLoss);
  await provision(operator, {}, { acceptLoss: `${first}-20` });
  const log = await opened;
  expect(await begun.checks['log']?.()).toMatchObject({ ok: true });
  expect(await describeAccepted(log)).toMatch(new RegExp(`^RUNS ${first}-20, accepted at 2`));
  await expect(provision(operator, {}, { acceptLoss: `${first}-20` })).rejects.toThrow(
    /RUNS has lost nothing/,
  );
  expect(await queueRuns(log, 1)).toBe(first);
  await logEndNotes(log)();
  expect(await lostFacts(log)).toBeUndefined();
});

it('facts that are lost in the middle of the log are named, and its end stays', async () => {
  await using nats = await testNats();
  await damaged(nats, 60, (blocks) => {
    expect(blocks.length).toBeGreaterThan(1);
    flipBit(blocks[0] ?? '', 0.9);
  });
  await using operator = await operatorOf(nats);
  const lost = await lostFacts(operator);
  const [[first, last] = [0, 0]] = lost?.ranges ?? [];
  expect({ first, last, ranges: lost?.ranges.length }).toMatchObject({ ranges: 1 });
  expect(first).toBeGreaterThan(1);
  expect(last).toBeLessThan(60);
  await provision(operator, {}, { acceptLoss: `${first}-${last}` });
  expect(await lostFacts(operator)).toBeUndefined();
});

it('the end is noted when it has grown only, and a log that was made anew has an end of its own', async () => {
  await using nats = await testNats();
  await using operator = await operatorOf(nats);
  await provision(operator);
  const note = logEndNotes(operator);
  await queueRuns(operator, 2);
  await note();
  const revision = async () => (await operator.jsm.streams.info('KV_LEASES')).state.last_seq;
  const before = await revision();
  await note();
  expect(await revision()).toBe(before);
  await operator.jsm.streams.delete('RUNS');
  await provision(operator);
  expect(await lostFacts(operator)).toBeUndefined();
  await queueRuns(operator, 1);
  await note();
  expect(await revision()).toBe(before + 1);
  expect(await lostFacts(operator)).toBeUndefined();
});
