import type { EventLog } from '@runledger/event-log/connect/event-log';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aGuardedBroker, USERS, type GuardedBroker, type UserName } from './a-guarded-broker.ts';
import { ALLOWED } from './allowed.ts';
import { PUBLISHED, subscribed } from './probes.ts';

/** No user may publish here. The refusal shows that all earlier messages were handled. */
const LAST = 'the.last.one';
// JetStream accepts no such request, so that a permitted message changes nothing.
const PAYLOAD = '!';

let broker: GuardedBroker;
beforeAll(async () => {
  broker = await aGuardedBroker();
});
afterAll(() => broker[Symbol.asyncDispose]());

/** The subjects at which the broker said "permissions violation" to what `act` did. */
const refusedTo = async (log: EventLog, act: () => void): Promise<Set<string>> => {
  const refused = new Set<string>();
  const listen = async (): Promise<void> => {
    for await (const status of log.nc.status()) {
      const error = status.type === 'error' ? status.error : undefined;
      const isViolation = error?.name === 'PermissionViolationError' && 'subject' in error;
      if (isViolation) refused.add(String(error.subject));
    }
  };
  void listen();
  act();
  log.nc.publish(LAST);
  await waitFor('the last refusal', () => refused.delete(LAST));
  return refused;
};

const fits = (subject: string, pattern: string): boolean => {
  const tokens = subject.split('.');
  const wanted = pattern.split('.');
  const isOpen = wanted.at(-1) === '>';
  if (isOpen ? tokens.length < wanted.length : tokens.length !== wanted.length) return false;
  return wanted.every((token, at) => token === '>' || token === '*' || token === tokens[at]);
};
const isAllowed = (subject: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => fits(subject, pattern));

const names = Object.keys(ALLOWED) as (keyof typeof ALLOWED)[];

describe.each(names)('%s', (name) => {
  it(`may publish to the subjects in the table, and to no other of ${PUBLISHED.length} subjects`, async () => {
    const log = await broker.open(name);
    const refused = await refusedTo(log, () => {
      for (const subject of PUBLISHED) log.nc.publish(subject, PAYLOAD);
    });
    const wanted = PUBLISHED.filter((subject) => !isAllowed(subject, ALLOWED[name].publish));
    expect([...refused].toSorted()).toEqual(wanted.toSorted());
  });

  it('may subscribe to the subjects in the table, and to no inbox but its own', async () => {
    const log = await broker.open(name);
    const keys = Object.entries(broker.keys).map(([user, { publicKey }]) => ({ user, publicKey }));
    const subjects = subscribed(keys.map(({ publicKey }) => publicKey));
    const refused = await refusedTo(log, () => {
      for (const subject of subjects) log.nc.subscribe(subject, { callback: () => undefined });
    });
    const own = `_INBOX_${broker.keys[name].publicKey}.>`;
    const wanted = subjects.filter((subject) => !isAllowed(subject, [own, ...ALLOWED[name].subscribe]));
    expect([...refused].toSorted()).toEqual(wanted.toSorted());
  });

  it('uses every line of the table about publishing', () => {
    const unused = ALLOWED[name].publish.filter(
      (pattern) => !PUBLISHED.some((subject) => fits(subject, pattern)),
    );
    expect(unused).toEqual([]);
  });
});

describe('the table', () => {
  it('has every user but the operator, who may do everything', async () => {
    const others = (Object.keys(USERS) as UserName[]).filter((name) => name !== 'operator');
    expect(names.toSorted()).toEqual(others.toSorted());
    const log = await broker.open('operator');
    log.nc.publish('anything', PAYLOAD);
    await log.nc.flush();
  });
});

describe('after all refusals', () => {
  it('every stream exists, and nothing was stored for another writer', async () => {
    const log = await broker.open('operator');
    const { state } = await log.jsm.streams.info('RUNS', { subjects_filter: '>' });
    const stored = Object.keys(state.subjects ?? {});
    const allowed = names.flatMap((name) => ALLOWED[name].publish);
    expect(stored.filter((subject) => !isAllowed(subject, allowed))).toEqual([]);
    expect(stored.length).toBeGreaterThan(0);
  });
});
