import type { EventLog } from '@runledger/event-log/connect/event-log';
import { newUuid } from '@runledger/contracts/ids';
import { anOpenIdProvider, type OpenIdProvider } from '@runledger/testing/stand-ins/open-id-provider';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { memberRecords, MOST_MEMBERS, type Member } from '../../../src/records/people/member-records.ts';
import { aBrowser, accountsOf, anEmail } from '../../fixtures/accounts/a-browser.ts';
import {
  anAccount,
  callbackOf,
  gatewayWith,
  SIGNED_IN,
  signInWith,
} from '../../fixtures/accounts/a-provider-sign-in.ts';
import { accept, anOrganisation, codeOf, invite } from '../../fixtures/accounts/an-organisation.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';

let bed: TestBed;
let provider: OpenIdProvider;
let gateway: TestGateway;
beforeAll(async () => {
  [bed, provider] = await Promise.all([openTestBed(), anOpenIdProvider()]);
  gateway = await gatewayWith(bed, provider, { RUNLEDGER_TRUSTED_PROXIES: 'loopback' });
  await provider.registerRedirect(callbackOf(gateway));
});
afterAll(async () => {
  await provider[Symbol.asyncDispose]();
  await bed[Symbol.asyncDispose]();
});

const FIRST = 'a password that is chosen first';
const SECOND = 'a password that is chosen next';

let signIns = 0;
/** From an address of its own: failures of an address are counted. */
const signIn = async (email: string, password: string) => {
  signIns += 1;
  const from = { 'x-forwarded-for': `203.0.113.${signIns}` };
  const { status, body } = await aBrowser(gateway.api).send('POST', '/session', { email, password }, from);
  return { status, organisation: body.organisation?.id };
};

const goOn = async (token: string) => {
  const { status, body } = await accept(aBrowser(gateway.api), token, { name: 'Ada', password: SECOND });
  return { status, organisation: body.organisation?.id };
};

/** An organisation that has as many members as it may. */
const crowd = async (org_id: string): Promise<() => Promise<unknown>> => {
  const members = memberRecords(bed.log);
  const [member] = await members.of(org_id);
  if (member === undefined) throw new Error('there is an owner');
  const change = (to: (present: readonly Member[]) => readonly Member[]) =>
    members.change(org_id, (present) => ({ kind: 'changed', members: to(present), member }));
  await change((present) => [
    ...present,
    ...Array.from({ length: MOST_MEMBERS - present.length }, () => ({
      ...member,
      user_id: newUuid(),
      email: anEmail(),
    })),
  ]);
  return () => change((present) => present.slice(0, 1));
};

describe('an acceptance that fails', () => {
  it('leaves no account, and the next one makes it', async () => {
    const { org_id, owner } = await anOrganisation(bed, gateway, { operator: true });
    const { token, email } = await invite(owner, anEmail());
    const freeSpace = await crowd(org_id);
    expect(await codeOf(accept(aBrowser(gateway.api), token, { name: 'Eve', password: FIRST }))).toEqual([
      409,
      'too_many_members',
    ]);
    expect(await accountsOf(bed.log).people.findByEmail(email)).toBeUndefined();
    expect((await signIn(email, FIRST)).status).toBe(401);
    await freeSpace();
    const { status, body } = await accept(aBrowser(gateway.api), token, { name: 'Ada', password: SECOND });
    expect([status, body.user.name, body.organisation.id]).toEqual([200, 'Ada', org_id]);
    expect(await signIn(email, SECOND)).toEqual({ status: 200, organisation: org_id });
  });

  it('with the provider neither', async () => {
    const { org_id, owner } = await anOrganisation(bed, gateway);
    const { token, email } = await invite(owner, anEmail());
    const account = anAccount(provider, { email });
    const freeSpace = await crowd(org_id);
    const withIt = () => signInWith(provider, aBrowser(gateway.api), account, { invitation: token });
    expect(await withIt()).toBe('too_many_members');
    expect(await accountsOf(bed.log).people.findByEmail(email)).toBeUndefined();
    expect(await signInWith(provider, aBrowser(gateway.api), account)).toBe('person_unknown');
    await freeSpace();
    expect(await withIt()).toBe(SIGNED_IN);
  });
});

it('the erasure of an organisation takes along who was interrupted at joining it', async () => {
  const { org_id } = await anOrganisation(bed, gateway);
  const { people, memberships } = accountsOf(bed.log);
  const email = anEmail();
  await people.create(email, 'Eve', { org_id, password: FIRST });
  await memberships.erase(org_id);
  expect(await people.findByEmail(email)).toBeUndefined();
});

/** From the call on, the broker takes so many writes of accounts from this gateway, and nothing more of anything: as if it was killed there. */
const killable = (log: EventLog): ((writes: number) => void) => {
  let left = Number.POSITIVE_INFINITY;
  const { js, jsm } = log;
  const [publish, purge] = [js.publish.bind(js), jsm.streams.purge.bind(jsm.streams)];
  const count = (isOfAccounts: boolean): void => {
    if (left <= 0) throw new Error('this gateway was killed');
    if (isOfAccounts) left -= 1;
  };
  js.publish = async (subject, ...rest) => {
    count(subject.includes('$KV.ACCOUNTS.'));
    return publish(subject, ...rest);
  };
  jsm.streams.purge = async (stream, ...rest) => {
    count(stream === 'KV_ACCOUNTS');
    return purge(stream, ...rest);
  };
  return (writes) => {
    left = writes;
  };
};

describe('an acceptance at a gateway that is killed behind any of its writes', () => {
  it(
    'leaves a member, or nobody who can sign in, and the next one goes on',
    { timeout: 120_000 },
    async () => {
      const { org_id, owner } = await anOrganisation(bed, gateway, { operator: true });
      const killed = await bed.gateway();
      const killBehind = killable(killed.log);
      const outcomes: string[] = [];
      for (let writes = 0; writes < 30 && outcomes.at(-1) !== 'accepted'; writes += 1) {
        const { token, email } = await invite(owner, anEmail());
        killBehind(writes);
        const first = await accept(aBrowser(killed.api), token, { name: 'Eve', password: FIRST });
        killBehind(Number.POSITIVE_INFINITY);
        const present = await signIn(email, FIRST);
        const isMember = present.status === 200;
        const next = isMember ? present : await goOn(token);
        expect([writes, next]).toEqual([writes, { status: 200, organisation: org_id }]);
        const { members } = (await owner.send('GET', '/members')).body;
        expect(members.filter((member: Member) => member.email === email)).toHaveLength(1);
        outcomes.push(first.status === 200 ? 'accepted' : isMember ? 'member' : 'nobody');
      }
      expect(new Set(outcomes)).toEqual(new Set(['nobody', 'member', 'accepted']));
    },
  );
});
