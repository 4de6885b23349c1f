import { testNats } from '@runledger/testing/nats';
import { openEventLog, type EventLog } from '../src/event-log.ts';
import { silentLogger } from '../src/logger.ts';
import { provision, type LogSettings } from '../src/provision.ts';

type Broker = Awaited<ReturnType<typeof testNats>>;

/** A provisioned log on a broker of its own. */
export interface TestLog extends AsyncDisposable {
  readonly nats: Broker;
  readonly log: EventLog;
  /** Another connection, closed with the rest. */
  open(url?: string): Promise<EventLog>;
}

export const aLog = async (settings: Partial<LogSettings> = {}): Promise<TestLog> => {
  const test = await anEmptyLog();
  await provision(test.log, settings);
  return test;
};

export const anEmptyLog = async (): Promise<TestLog> => {
  await using opened = new AsyncDisposableStack();
  const nats = opened.use(await testNats());
  const open = async (url = nats.url): Promise<EventLog> =>
    opened.use(await openEventLog({ url, name: 'test' }, silentLogger));
  const log = await open();
  const kept = opened.move();
  return {
    nats,
    log,
    open: async (url = nats.url) => kept.use(await openEventLog({ url, name: 'test' }, silentLogger)),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};

/** As any client with write access could. */
export const forge = async (
  log: EventLog,
  subject: string,
  body: object,
  expect?: { filter: string; sequence: number },
): Promise<number> => {
  const fence = expect
    ? { expect: { lastSubjectSequence: expect.sequence, lastSubjectSequenceSubject: expect.filter } }
    : {};
  return (await log.js.publish(subject, JSON.stringify(body), fence)).seq;
};
