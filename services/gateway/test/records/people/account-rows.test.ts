import { newUuid } from '@runledger/contracts/ids';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  accountRows,
  hashOf,
  RowExists,
  TABLES,
  type Row,
} from '../../../src/records/people/account-rows.ts';
import { accountsOf, anEmail } from '../../fixtures/accounts/a-browser.ts';
import { aLog, type TestLog } from '../../fixtures/gateway/a-log.ts';

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
});
afterAll(() => test[Symbol.asyncDispose]());

const aUser = (email = anEmail()): Row => ({ id: newUuid(), email, name: 'Ada' });
const aSession = (userId: string, token: string): Row => ({ id: newUuid(), userId, token });
const stored = async (): Promise<string> => {
  const all = await openBucket(test.log, 'ACCOUNTS', Type.Unknown()).list();
  return JSON.stringify(all);
};

describe('the rows of accounts', () => {
  it('has one row of ten with an e-mail that are created at once, at several gateways', async () => {
    const [one, other] = [accountRows(test.log), accountRows(await test.open())];
    const email = anEmail();
    const users = Array.from({ length: 10 }, () => aUser(email));
    const created = await Promise.all(
      users.map(async (user, index) => {
        const creation = (index % 2 === 0 ? one : other).create(TABLES.user, user);
        return creation.then(
          () => user,
          (error: unknown) => error,
        );
      }),
    );
    const done = created.filter((result) => !(result instanceof RowExists));
    expect(done).toHaveLength(1);
    expect(await one.findUnique(TABLES.user, [email])).toEqual(done[0]);
    const present = await Promise.all(users.map(({ id }) => other.find(TABLES.user, String(id))));
    expect(present.filter((row) => row !== undefined)).toEqual(done);
  });

  it('takes over what an interrupted creation left', async () => {
    const rows = accountRows(test.log);
    const user = aUser();
    const key = `unique.user.${hashOf(String(user['email']))}`;
    const Reference = Type.Object({ id: Type.String() });
    await openBucket(test.log, 'ACCOUNTS', Reference).create(key, { id: newUuid() });
    await rows.create(TABLES.user, user);
    expect(await rows.findUnique(TABLES.user, [String(user['email'])])).toEqual(user);
  });

  it('stores no text of a session, and finds the session by it', async () => {
    const rows = accountRows(test.log);
    const token = 'abcdefghijklmnopqrstuvwxyzABCDEF';
    const session = aSession(newUuid(), token);
    await rows.create(TABLES.session, session);
    expect(await rows.findUnique(TABLES.session, [token])).toMatchObject({ id: session['id'] });
    expect(await stored()).not.toContain(token);
  });

  it('lists the rows of a person, and leaves nothing of a removed one', async () => {
    const rows = accountRows(test.log);
    const owner = newUuid();
    const all = ['a', 'b', 'c'].map((token) => aSession(owner, `${token}-${newUuid()}`));
    for (const session of all) await rows.create(TABLES.session, session);
    const listed = await rows.listOwned(TABLES.session, owner);
    expect(listed.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
    for (const row of listed) await rows.remove(TABLES.session, row);
    expect(await rows.listOwned(TABLES.session, owner)).toEqual([]);
    const left = await stored();
    for (const { id } of all) expect(left).not.toContain(id);
  });

  it('lets two changes of a row at once both take effect', async () => {
    const rows = accountRows(test.log);
    const user = { ...aUser(), id: newUuid(), count: 0 };
    await rows.create(TABLES.user, user);
    const add = () =>
      rows.change(TABLES.user, user.id, (row) => ({ ...row, count: Number(row['count']) + 1 }));
    await Promise.all([add(), add(), add()]);
    expect(await rows.find(TABLES.user, user.id)).toMatchObject({ count: 3 });
  });
});

describe('people', () => {
  it('has one of two people who get an account with one e-mail at once', async () => {
    const { people } = accountsOf(test.log);
    const email = anEmail();
    const made = await Promise.all([people.create(email, 'Ada'), people.create(email.toUpperCase(), 'Eve')]);
    expect(made.filter((person) => person !== undefined)).toHaveLength(1);
    expect(await people.findByEmail(email)).toEqual(made.find((person) => person !== undefined));
  });

  it('knows a person by the password, which is stored as a hash', async () => {
    const { people } = accountsOf(test.log);
    const person = await people.create(anEmail(), 'Ada');
    if (!person) throw new Error('there is no person');
    expect(await people.withPassword(person.email, 'a password of nobody')).toBeUndefined();
    await people.setPassword(person.id, 'first of two passwords');
    await people.setPassword(person.id, 'second of two passwords');
    expect(await people.withPassword(person.email.toUpperCase(), 'second of two passwords')).toEqual(person);
    expect(await people.withPassword(person.email, 'first of two passwords')).toBeUndefined();
    expect(await stored()).not.toContain('of two passwords');
    await people.remove(person.id);
    expect(await stored()).not.toContain(person.id);
  });
});
