import { openBucket } from '@runledger/event-log/streams/bucket';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accountRecords } from '../../../src/records/people/account-records.ts';
import { openPasswords } from '../../../src/records/people/passwords.ts';
import type { Person } from '../../../src/records/people/people.ts';
import { accountsOf, anEmail } from '../../fixtures/accounts/a-browser.ts';
import { aLog, type TestLog } from '../../fixtures/gateway/a-log.ts';

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
});
afterAll(() => test[Symbol.asyncDispose]());

const stored = async (): Promise<string> => {
  const all = await openBucket(test.log, 'ACCOUNTS', Type.Unknown()).list();
  return JSON.stringify(all);
};

const created = async (email = anEmail()): Promise<Person> => {
  const person = await accountsOf(test.log).people.create(email, 'Ada');
  if (!person) throw new Error('there is no person');
  return person;
};

/** Somebody who is a member of an organisation. */
const settled = async (): Promise<Person> => {
  const { people } = accountsOf(test.log);
  const person = await created();
  await people.settle(person);
  return { id: person.id, email: person.email, name: person.name };
};

describe('people', () => {
  it('has one of ten people who get an account with one e-mail at once, at several gateways', async () => {
    const [one, other] = [accountsOf(test.log), accountsOf(await test.open())];
    const email = anEmail();
    const made = await Promise.all(
      Array.from({ length: 10 }, (_none, index) =>
        (index % 2 === 0 ? one : other).people.create(
          index < 5 ? email.toUpperCase() : email,
          `Ada ${index}`,
        ),
      ),
    );
    const done = made.filter((person) => person !== undefined);
    expect(done).toHaveLength(1);
    for (const { people } of [one, other]) {
      expect(await people.findByEmail(email)).toEqual(done[0]);
      expect(await people.find(String(done[0]?.id))).toEqual(done[0]);
    }
  });

  it('knows a person by the password, which is stored as a hash', async () => {
    const { people } = accountsOf(test.log);
    const person = await settled();
    expect(await people.withPassword(person.email, 'a password of nobody')).toBeUndefined();
    await people.setPassword(person.id, 'first of two passwords');
    await people.setPassword(person.id, 'second of two passwords');
    expect(await people.withPassword(person.email.toUpperCase(), 'second of two passwords')).toEqual(person);
    expect(await people.withPassword(person.email, 'first of two passwords')).toBeUndefined();
    expect(await stored()).not.toContain('of two passwords');
  });

  it('finds a session by its text, which is not stored, and leaves nothing of a removed person', async () => {
    const { people, sessions } = accountsOf(test.log);
    const { id } = await settled();
    const identity = { issuer: 'https://provider.example/', subject: id };
    expect(await people.link(id, identity, true)).toBe(true);
    const begun = [await sessions.begin(id, null, 'password'), await sessions.begin(id, null, 'link')];
    for (const { text, session } of begun) {
      expect(await sessions.find(text)).toEqual(session);
      for (const half of text.split('.')) expect(await stored()).not.toContain(half);
    }
    await people.remove(id);
    for (const { text } of begun) expect(await sessions.find(text)).toBeUndefined();
    expect(await people.findByIdentity(identity)).toBeUndefined();
    const left = await stored();
    for (const text of [id, 'sessions.', 'identities.']) expect(left).not.toContain(text);
  });

  it('lets several changes of an account at once all take effect', async () => {
    const { people } = accountsOf(test.log);
    const { id } = await settled();
    const accounts = accountRecords(test.log);
    const add = (letter: string) =>
      accounts.change(id, (account) => ({ ...account, name: `${account.name}${letter}` }));
    await Promise.all(['1', '2', '3'].map(add));
    expect((await people.find(id))?.name.split('').toSorted().join('')).toBe('123Aad');
  });

  it('gives an identity of a provider to one of two who link it at once, also after a kill between naming and claiming it', async () => {
    const [one, other] = [accountsOf(test.log).people, accountsOf(await test.open()).people];
    const [ada, eve] = [await settled(), await settled()];
    const identity = { issuer: 'https://provider.example/', subject: 'of one' };
    const linked = await Promise.all([one.link(ada.id, identity, true), other.link(eve.id, identity, true)]);
    expect(linked.filter((isLinked) => isLinked)).toHaveLength(1);
    const [owner, loser] = linked[0] ? [ada, eve] : [eve, ada];
    expect(await one.findByIdentity(identity)).toEqual(owner);
    expect((await one.waysOf(loser.id)).issuer).toBeUndefined();
    expect(await one.link(owner.id, { ...identity, subject: 'another' }, true)).toBe(false);

    const killed = await settled();
    const named = { issuer: 'https://provider.example/', subject: 'of a killed one' };
    await accountRecords(test.log).change(killed.id, (account) => ({
      ...account,
      identity: `${named.issuer} ${named.subject}`,
    }));
    expect(await one.findByIdentity(named)).toBeUndefined();
    expect(await one.link(killed.id, named, true)).toBe(true);
    expect(await one.findByIdentity(named)).toEqual(killed);
  });
});

describe('a hash of a password', () => {
  /** Made by better-auth 1.7.25, which Runledger had before. */
  const OF_BETTER_AUTH = [
    [
      'correct horse battery staple',
      '12e0a71cc8b56cbdc7c7ea02e2b39915:3ad73b3a05d1bde9a5e106ca9fb18fc80bd8729143c6cfa83aa4d74561a0dc4f5bf2dd4e715f97cd5223c5e7f33baee2252b3d0ca604f39e52e131241f3aa849',
    ],
    [
      'Zoe\u0308 \ufb01nds 5 \u338f \u{1f511}',
      '05685f5984da9a0e506710e0e3851555:1f79770db54d0dfc395b5def0f9ebe44e084eef051f9e013c00dcc27eeb11b8878e0a330a08cb132368af9cc259bd4a2e12c3a14eff6b1e5f4bd12c9b37e477e',
    ],
  ] as const;
  const passwords = openPasswords();

  it.each(OF_BETTER_AUTH)('of the library that was here before fits still: %s', async (password, hash) => {
    expect(await passwords.matches(password, hash)).toBe(true);
    expect(await passwords.matches(`${password}x`, hash)).toBe(false);
  });

  it('has a salt of its own, and is the same however a character is written', async () => {
    const [one, other] = [await passwords.hash('pässword'), await passwords.hash('pa\u0308ssword')];
    expect(one).toMatch(/^[0-9a-f]{32}:[0-9a-f]{128}$/);
    expect(one).not.toBe(other);
    expect(await passwords.matches('pa\u0308ssword', one)).toBe(true);
  });

  it('that is missing, damaged or of nothing fits no password', async () => {
    for (const hash of [undefined, '', ':', 'salt', 'salt:', ':00', 'salt:zz'])
      expect(await passwords.matches('', hash)).toBe(false);
  });
});
