import { respondToRedrives } from '@runledger/request-reply/redrive';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { listDeadLetters, storeDeadLetter } from '@runledger/event-log/streams/dead-letters';
import { provision } from '@runledger/event-log/provision/provision';
import type {
  RedriveResponse,
  RedriveRequest,
  Redriver,
} from '@runledger/contracts/requests/operator-requests';
import { testAccount } from '@runledger/testing/servers/nats-account';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { waitFor } from '@runledger/testing/wait-for';
import { aRealGateway } from '../fixtures/real-gateway.ts';
import { cliWith, type Cli } from '../fixtures/run-cli.ts';

let log: EventLog;
let cli: Cli;
beforeEach(async () => {
  const opened = new AsyncDisposableStack();
  onTestFinished(() => opened.disposeAsync());
  const nats = opened.use(await testAccount());
  log = opened.use(await openEventLog({ ...nats.login, name: 'test' }, silentLogger));
  await provision(log);
  cli = cliWith(nats.env);
});

const SUBJECT = 'runs.a.b.life.started.executor.1.x';

/** Stores a message that no consumer can handle, and its dead letter. */
const aDeadLetter = async (consumer: string, payload = '{"type": "RunStarted"}'): Promise<number> => {
  const { seq } = await log.js.publish(SUBJECT, payload);
  const stored = { subject: SUBJECT, sequence: seq, time: '2026-05-01T12:00:00.000Z' };
  await storeDeadLetter(log, {
    consumer,
    stored: { ...stored, body: undefined, fence: null, expectedSequence: null },
    reason: 'it is no \u001B[2Jevent',
  });
  return seq;
};

/** A service that responds to redrive requests, and records them. */
const aService = async (
  who: Redriver,
  outcome: RedriveResponse['outcome'] = 'taken',
): Promise<RedriveRequest[]> => {
  const requests: RedriveRequest[] = [];
  const answering = respondToRedrives(log, who, async (question) => {
    requests.push(question);
    return { outcome, why: outcome === 'taken' ? 'it was counted' : 'it is still no event' };
  });
  onTestFinished(() => answering[Symbol.dispose]());
  await log.nc.flush();
  return requests;
};

const positionsNow = async () => (await listDeadLetters(log)).map(({ position }) => position);

describe('runledger dead-letters list', () => {
  it('lists dead letters, oldest first, by consumer and stream, up to the limit', async () => {
    for (const consumer of ['scheduler', 'projection', 'scheduler']) await aDeadLetter(consumer);
    const { code, stdout } = await cli(['dead-letters', 'list']);
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
      (await cli(['dead-letters', 'list', '--json', ...args])).stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).position);
    expect(await positions('--consumer', 'scheduler')).toEqual([1, 3]);
    expect(await positions('--stream', 'RUNS', '--consumer', 'projection')).toEqual([2]);
    expect(await cli(['dead-letters', 'list', '--limit', '2'])).toMatchObject({
      stderr: 'There are more than 2. Use a higher --limit to see them.\n',
    });
    expect(await cli(['dead-letters', 'list', '--stream', 'FLEET'])).toMatchObject({
      stdout: '',
      stderr: 'No dead letter matches.\n',
    });
  });

  it('lists more dead letters than one read returns', async () => {
    for (let count = 0; count < 45; count += 1) await aDeadLetter('scheduler');
    expect((await cli(['dead-letters', 'list', '--json'])).stdout.trim().split('\n')).toHaveLength(45);
  });
});

describe('runledger dead-letters show', () => {
  it('shows reason and content, formatted, without control characters', async () => {
    await aDeadLetter('scheduler', '{"title": "evil \\u009b2J", "data": {"n": 1}}');
    const { stdout } = await cli(['dead-letters', 'show', '1']);
    expect(stdout).toMatch(
      /^position {2}1\nconsumer {2}scheduler\nstream {4}RUNS\nsequence {2}1\nsubject {3}runs\./,
    );
    expect(stdout).toContain('\n\n{\n  "title": "evil  2J",\n  "data": {\n    "n": 1\n  }\n}\n');
    expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });

  it('shortens content that is long or not JSON', async () => {
    await aDeadLetter('scheduler', `no json \u001B[2J ${'x'.repeat(1_000)}`);
    await aDeadLetter('scheduler', JSON.stringify(Array.from({ length: 500 }, (_, n) => n)));
    const text = (await cli(['dead-letters', 'show', '1'])).stdout;
    expect(text).toMatch(/\n\nno json {2}\[2J x{300,}…\n$/);
    const long = (await cli(['dead-letters', 'show', '2'])).stdout;
    expect(long).toMatch(/\n… and 402 more lines: see all with --json\n$/);
    const { data } = JSON.parse((await cli(['dead-letters', 'show', '2', '--json'])).stdout);
    expect(JSON.parse(Buffer.from(data, 'base64').toString())).toHaveLength(500);
  });
});

describe('runledger dead-letters redrive', () => {
  it('lets each service handle its own dead letters, and removes them', async () => {
    const sequences = [
      await aDeadLetter('scheduler'),
      await aDeadLetter('projection'),
      await aDeadLetter('executor-north'),
    ];
    const requests = [
      await aService('scheduler'),
      await aService('gateway'),
      await aService('executor.north'),
    ];
    expect(await cli(['dead-letters', 'redrive', '1'])).toEqual({
      code: 0,
      stdout: '1 was redriven and removed: it was counted\n',
      stderr: '',
    });
    expect(await positionsNow()).toEqual([2, 3]);
    expect((await cli(['dead-letters', 'redrive', '--all', '--json'])).code).toBe(0);
    expect(requests).toEqual(sequences.map((sequence) => [{ stream: 'RUNS', sequence, subject: SUBJECT }]));
    expect(await positionsNow()).toEqual([]);
    expect(await cli(['dead-letters', 'redrive', '--all'])).toMatchObject({ code: 0, stdout: '' });
  });

  it('keeps a dead letter that is refused again, and prints the reason', async () => {
    await aDeadLetter('scheduler');
    await aService('scheduler', 'refused');
    expect(await cli(['dead-letters', 'redrive', '1'])).toMatchObject({
      code: 2,
      stdout: '1 was refused again and stays: it is still no event\n',
    });
    expect(await positionsNow()).toEqual([1]);
  });

  it('names a service that does not respond, and continues with the others', async () => {
    for (const consumer of ['scheduler', 'executor-north', 'projection', 'scheduler', 'notifier']) {
      await aDeadLetter(consumer);
    }
    await aService('gateway');
    const { code, stdout } = await cli(['dead-letters', 'redrive', '--all']);
    const [first, second, third, fourth, fifth] = stdout.trim().split('\n');
    expect(code).toBe(2);
    expect(first).toContain('1 stays: The leading scheduler did not respond. Start a scheduler');
    expect(second).toContain('2 stays: Executor north did not respond.');
    expect(third).toContain('3 was redriven');
    expect(fourth).toContain('4 stays: The leading scheduler');
    expect(fifth).toContain('5 stays: No service redrives messages of RUNS that notifier rejected');
    expect(await positionsNow()).toEqual([1, 2, 4, 5]);
    const some = await cli(['dead-letters', 'redrive', '--all', '--consumer', 'projection']);
    expect(some.stderr).toBe('No dead letter matches.\n');
  });
});

it('a gateway refuses a forged fact again, and gives the reason', async () => {
  await using gateway = await aRealGateway();
  const real = cliWith(gateway.nats.env);
  const run = (await gateway.cli(['queue', '--deployment', gateway.deployment_id])).stdout.trim();
  await gateway.log.js.publish(`runs.${gateway.org_id}.${run}.life.started.executor.1.forged`, '{}');
  await waitFor('the dead letter', async () => (await listDeadLetters(gateway.log)).length > 0);
  const { code, stdout } = await real(['dead-letters', 'redrive', '--all']);
  expect([code, stdout]).toEqual([
    2,
    expect.stringMatching(/^1 was refused again and stays: It is still refused: /),
  ]);
});

it('invalid arguments are refused with a sentence', async () => {
  for (const [line, sentence] of [
    ['list --consumer a.>', '--consumer a.> is not a valid name'],
    ['list --limit 0', '--limit 0 is not a whole number from 1 to'],
    ['show 7', 'There is no dead letter at position 7.'],
    ['show 0', 'The position 0 is not a whole number from 1'],
    ['show x', 'The position x is not a whole number from 1'],
    ['redrive', 'Name one position from runledger dead-letters list, or use --all.'],
    ['redrive 1 --all', 'Name one position from runledger dead-letters list, or use --all.'],
    ['redrive 1 --stream RUNS', 'Use --stream and --consumer only with --all.'],
    ['redrive 9', 'There is no dead letter at position 9.'],
  ] as const) {
    expect([line, await cli(['dead-letters', ...line.split(' ')])]).toMatchObject([
      line,
      { code: 2, stdout: '', stderr: expect.stringContaining(sentence) },
    ]);
  }
});
