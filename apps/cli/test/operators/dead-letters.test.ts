import { respondToRedrives } from '@runledger/request-reply/redrive';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/logger';
import { listDeadLetters, storeDeadLetter } from '@runledger/event-log/streams/dead-letters';
import { provision } from '@runledger/event-log/provision/provision';
import type { RedriveResponse, RedriveRequest, Redriver } from '@runledger/contracts/requests/redrive';
import { testNats } from '@runledger/testing/servers/nats';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { waitFor } from '@runledger/testing/time/wait-for';
import { aRealGateway } from '../fixtures/real-gateway.ts';
import { cliWith } from '../fixtures/cli-in-process.ts';
import type { Cli } from '../fixtures/cli-in-process.ts';

let log: EventLog;
let cli: Cli;
beforeEach(async () => {
  const opened = new AsyncDisposableStack();
  onTestFinished(() => opened.disposeAsync());
  const nats = opened.use(await testNats());
  log = opened.use(await openEventLog({ url: nats.url, name: 'test' }, silentLogger));
  await provision(log);
  cli = cliWith({ RUNLEDGER_NATS_URL: nats.url });
});

const SUBJECT = 'runs.a.b.life.started.executor.1.x';

/** Stores what no consumer takes, and parks it. */
const aParked = async (consumer: string, payload = '{"type": "RunStarted"}'): Promise<number> => {
  const { seq } = await log.js.publish(SUBJECT, payload);
  const stored = { subject: SUBJECT, sequence: seq, time: '2026-05-01T12:00:00.000Z' };
  await storeDeadLetter(log, {
    consumer,
    stored: { ...stored, body: undefined, fence: null, expectedSequence: null },
    reason: 'it is no \u001B[2Jevent',
  });
  return seq;
};

/** A service that takes what it is asked for, and remembers it. */
const aService = async (
  who: Redriver,
  outcome: RedriveResponse['outcome'] = 'taken',
): Promise<RedriveRequest[]> => {
  const asked: RedriveRequest[] = [];
  const answering = respondToRedrives(log, who, async (question) => {
    asked.push(question);
    return { outcome, why: outcome === 'taken' ? 'it was counted' : 'it is still no event' };
  });
  onTestFinished(() => answering[Symbol.dispose]());
  await log.nc.flush();
  return asked;
};

const parked = async () => (await listDeadLetters(log)).map(({ position }) => position);

describe('runledger parked list', () => {
  it('lists what is parked, the oldest first, by consumer and stream, and no more than asked for', async () => {
    for (const consumer of ['scheduler', 'projection', 'scheduler']) await aParked(consumer);
    const { code, stdout } = await cli(['parked', 'list']);
    const [head, ...lines] = stdout.trim().split('\n');
    expect([code, head]).toEqual([
      0,
      expect.stringMatching(/^POSITION +CONSUMER +STREAM +SEQUENCE +TIME +REASON$/),
    ]);
    expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
      ['1', 'scheduler', 'RUNS', '1', '2026-05-01T12:00:00.000Z', 'it is no', '[2Jevent'],
      ['2', 'projection', 'RUNS', '2', '2026-05-01T12:00:00.000Z', 'it is no', '[2Jevent'],
      ['3', 'scheduler', 'RUNS', '3', '2026-05-01T12:00:00.000Z', 'it is no', '[2Jevent'],
    ]);
    const positions = async (...args: string[]) =>
      (await cli(['parked', 'list', '--json', ...args])).stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).position);
    expect(await positions('--consumer', 'scheduler')).toEqual([1, 3]);
    expect(await positions('--stream', 'RUNS', '--consumer', 'projection')).toEqual([2]);
    expect(await cli(['parked', 'list', '--limit', '2'])).toMatchObject({
      stderr: 'There are more than 2: see them with a higher --limit.\n',
    });
    expect(await cli(['parked', 'list', '--stream', 'FLEET'])).toMatchObject({
      stdout: '',
      stderr: 'Nothing is parked like that.\n',
    });
  });

  it('of more than are read at once goes through all', async () => {
    for (let count = 0; count < 45; count += 1) await aParked('scheduler');
    expect((await cli(['parked', 'list', '--json'])).stdout.trim().split('\n')).toHaveLength(45);
  });
});

describe('runledger parked show', () => {
  it('shows why and what, laid out, without what a terminal would obey', async () => {
    await aParked('scheduler', '{"title": "evil \\u009b2J", "data": {"n": 1}}');
    const { stdout } = await cli(['parked', 'show', '1']);
    expect(stdout).toMatch(
      /^position {2}1\nconsumer {2}scheduler\nstream {4}RUNS\nsequence {2}1\nsubject {3}runs\./,
    );
    expect(stdout).toContain('\n\n{\n  "title": "evil  2J",\n  "data": {\n    "n": 1\n  }\n}\n');
    expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });

  it('shows of what is no JSON, or very long, a part', async () => {
    await aParked('scheduler', `no json \u001B[2J ${'x'.repeat(1_000)}`);
    await aParked('scheduler', JSON.stringify(Array.from({ length: 500 }, (_, n) => n)));
    const text = (await cli(['parked', 'show', '1'])).stdout;
    expect(text).toMatch(/\n\nno json {2}\[2J x{300,}…\n$/);
    const long = (await cli(['parked', 'show', '2'])).stdout;
    expect(long).toMatch(/\n… and 402 lines more: see all with --json\n$/);
    const { data } = JSON.parse((await cli(['parked', 'show', '2', '--json'])).stdout);
    expect(JSON.parse(Buffer.from(data, 'base64').toString())).toHaveLength(500);
  });
});

describe('runledger parked redrive', () => {
  it('has each service take its own, and forgets what was taken', async () => {
    const sequences = [
      await aParked('scheduler'),
      await aParked('projection'),
      await aParked('executor-north'),
    ];
    const asked = [await aService('scheduler'), await aService('gateway'), await aService('executor.north')];
    expect(await cli(['parked', 'redrive', '1'])).toEqual({
      code: 0,
      stdout: '1 is taken, and parked no more: it was counted\n',
      stderr: '',
    });
    expect(await parked()).toEqual([2, 3]);
    expect((await cli(['parked', 'redrive', '--all', '--json'])).code).toBe(0);
    expect(asked).toEqual(sequences.map((sequence) => [{ stream: 'RUNS', sequence, subject: SUBJECT }]));
    expect(await parked()).toEqual([]);
    expect(await cli(['parked', 'redrive', '--all'])).toMatchObject({ code: 0, stdout: '' });
  });

  it('keeps what is refused again, and says why', async () => {
    await aParked('scheduler');
    await aService('scheduler', 'refused');
    expect(await cli(['parked', 'redrive', '1'])).toMatchObject({
      code: 2,
      stdout: '1 is refused again, and stays parked: it is still no event\n',
    });
    expect(await parked()).toEqual([1]);
  });

  it('says which service has to run, and goes on with the others', async () => {
    for (const consumer of ['scheduler', 'executor-north', 'projection', 'scheduler', 'notifier']) {
      await aParked(consumer);
    }
    await aService('gateway');
    const { code, stdout } = await cli(['parked', 'redrive', '--all']);
    const [first, second, third, fourth, fifth] = stdout.trim().split('\n');
    expect(code).toBe(2);
    expect(first).toContain('1 stays parked: No scheduler that leads has answered. Start a scheduler');
    expect(second).toContain('2 stays parked: The executor north has not answered.');
    expect(third).toContain('3 is taken');
    expect(fourth).toContain('4 stays parked: No scheduler');
    expect(fifth).toContain('5 stays parked: No service takes again what notifier parked');
    expect(await parked()).toEqual([1, 2, 4, 5]);
    const some = await cli(['parked', 'redrive', '--all', '--consumer', 'projection']);
    expect(some.stderr).toBe('Nothing is parked like that.\n');
  });
});

it('a gateway that set a forged fact aside refuses it again, and says why', async () => {
  await using gateway = await aRealGateway();
  const real = cliWith({ RUNLEDGER_NATS_URL: gateway.nats_url });
  const run = (await gateway.cli(['queue', '--deployment', gateway.deployment_id])).stdout.trim();
  await gateway.log.js.publish(`runs.${gateway.org_id}.${run}.life.started.executor.1.forged`, '{}');
  await waitFor('it to be parked', async () => (await listDeadLetters(gateway.log)).length > 0);
  const { code, stdout } = await real(['parked', 'redrive', '--all']);
  expect([code, stdout]).toEqual([
    2,
    expect.stringMatching(/^1 is refused again, and stays parked: It is still refused: /),
  ]);
});

it('a command that names what cannot be is refused with a sentence', async () => {
  for (const [line, sentence] of [
    ['list --consumer a.>', '--consumer a.> is no name'],
    ['list --limit 0', '--limit 0 is no whole number from 1 to'],
    ['show 7', 'Nothing is parked at position 7, or not any more.'],
    ['show 0', 'The position 0 is no whole number from 1'],
    ['show x', 'The position x is no whole number from 1'],
    ['redrive', 'Name a position of runledger parked list, or --all.'],
    ['redrive 1 --all', 'Name a position of runledger parked list, or --all.'],
    ['redrive 1 --stream RUNS', '--stream and --consumer go with --all.'],
    ['redrive 9', 'Nothing is parked at position 9, or not any more.'],
  ] as const) {
    expect([line, await cli(['parked', ...line.split(' ')])]).toMatchObject([
      line,
      { code: 2, stdout: '', stderr: expect.stringContaining(sentence) },
    ]);
  }
});
