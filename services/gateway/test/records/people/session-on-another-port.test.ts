import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { newUuid } from '@runledger/contracts/ids';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describedOperations } from '../../../src/door/operation.ts';
import {
  aBrowser,
  aMember,
  PASSWORD,
  sentOf,
  type APerson,
  type Browser,
  type Sent,
} from '../../fixtures/accounts/a-browser.ts';
import { anOrganisation, codeOf, invite } from '../../fixtures/accounts/an-organisation.ts';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';

let bed: TestBed;
let gateway: TestGateway;
let other: TestGateway;
let person: APerson;
let owner: Browser;
/** What a program on another port of the host got when the owner's browser opened its address. */
let stolen: Sent;
/** What it cannot get. */
let token: string;
beforeAll(async () => {
  bed = await openTestBed();
  [gateway, other] = await Promise.all([bed.gateway(), bed.gateway()]);
  person = await aMember(bed.log, bed.tenant.org_id, 'owner', { operator: true, hasPassword: true });
  owner = aBrowser(gateway.api);
  await owner.send('POST', '/session', { email: person.email, password: PASSWORD });
  token = String(owner.session()['runledger-session']);
  stolen = await takenByProgram(owner);
});
afterAll(() => bed[Symbol.asyncDispose]());

/** Opens a page of a program that listens on another port. A browser sends the cookie there by itself, and no header of our own page. */
const takenByProgram = async (browser: Browser): Promise<Sent> => {
  const taken: Sent[] = [];
  const program = createServer(({ headers }, response) => {
    taken.push({ cookie: headers.cookie });
    response.end('a page');
  });
  await new Promise<void>((resolve) => program.listen(0, '127.0.0.1', resolve));
  const { port } = program.address() as AddressInfo;
  await fetch(`http://127.0.0.1:${port}/`, { headers: sentOf({ cookie: browser.session().cookie }) });
  program.close();
  const [first] = taken;
  if (first?.cookie === undefined) throw new Error('The program got no cookie.');
  return first;
};

interface Answered {
  readonly id: string;
  readonly status: number;
  /** With its headers. */
  readonly text: string;
}

/** The answers of all operations that need somebody. Nothing is done: the ids are unknown, or the body is missing or of another type. */
const answersTo = (sent: Sent): Promise<Answered[]> =>
  Promise.all(
    describedOperations()
      .filter(({ scope }) => scope !== 'none')
      .map(async ({ id, method, path }) => {
        const at = path.replaceAll(/\{\w+\}/g, () => newUuid());
        const headers = { ...sentOf(sent), 'content-type': 'text/plain' };
        const response = await fetch(`${gateway.api}${at}`, { method, headers });
        const text = `${JSON.stringify([...response.headers])}${await response.text()}`;
        return { id, status: response.status, text };
      }),
  );

describe('the cookie of a session, in the hands of a program on another port', () => {
  it('opens no operation, whatever it reads or changes; with the token it opens all', async () => {
    const refused = await answersTo(stolen);
    expect(refused.length).toBeGreaterThan(50);
    for (const { id, status, text } of refused) {
      expect([id, status]).toEqual([id, 401]);
      expect([id, text]).toEqual([id, expect.stringContaining('session_incomplete')]);
    }
    for (const { id, status, text } of await answersTo(owner.session())) {
      expect([id, status]).not.toEqual([id, 401]);
      expect([id, text.includes(token)]).toEqual([id, false]);
    }
  });

  it('makes no key', async () => {
    const program = aBrowser(gateway.api, stolen);
    const key = { name: 'mine', scopes: ['admin'] };
    const { status, body } = await program.send('POST', '/api-keys', key);
    expect([status, body.code]).toEqual([401, 'session_incomplete']);
    expect(body.detail).toMatch(/lacks its token in the header Runledger-Session.*sign in again/s);
    expect(JSON.stringify((await owner.send('GET', '/api-keys')).body)).not.toContain('"mine"');
    expect((await owner.send('POST', '/api-keys', key)).status).toBe(201);
  });

  it('opens no event stream, log, wait or picture of a run', async () => {
    const run = await queueSample(gateway, bed.tenant);
    for (const path of ['/events', '/logs?follow=true', '?wait=1', '/history.svg', '/history']) {
      const at = `${gateway.api}/run/${run.run_id}${path}`;
      const read = async (sent: Sent): Promise<number> => {
        const stop = new AbortController();
        const { status } = await fetch(at, { headers: sentOf(sent), signal: stop.signal });
        stop.abort();
        return status;
      };
      expect([path, await read(stolen), await read(owner.session())]).toEqual([path, 401, 200]);
    }
  });

  it('says nothing of its person, chooses no organisation, changes no password and ends no session', async () => {
    const program = aBrowser(gateway.api, stolen);
    const refused = [401, 'session_incomplete'];
    const nobody = await program.send('GET', '/session');
    expect([nobody.status, nobody.body.user, nobody.body.organisations]).toEqual([200, null, []]);
    const { org_id: organisation_id } = bed.tenant;
    expect(await codeOf(program.send('PATCH', '/session', { organisation_id }))).toEqual(refused);
    const password = { password: 'of the program', current_password: PASSWORD };
    expect(await codeOf(program.send('POST', '/account/password', password))).toEqual(refused);
    expect(await codeOf(program.send('DELETE', '/session'))).toEqual(refused);
    const { body } = await owner.send('GET', '/session');
    expect([body.user.id, body.organisation.id]).toEqual([person.id, organisation_id]);
    expect((await owner.send('PATCH', '/session', { organisation_id })).status).toBe(200);
  });

  it('accepts no invitation of its person, and gets no token for anything', async () => {
    const elsewhere = await anOrganisation(bed, gateway, { operator: true });
    const { token: invitation } = await invite(elsewhere.owner, person.email);
    const program = aBrowser(gateway.api, stolen);
    const accepted = await program.send('POST', '/invitations/accept', { token: invitation });
    expect([accepted.status, accepted.body.code]).toEqual([401, 'sign_in_refused']);
    const answers = await Promise.all([
      program.send('GET', '/session'),
      program.send('POST', '/session', { email: person.email, password: 'a guess' }),
      program.send('POST', '/session/link', { token: 'a-guess' }),
      program.send('POST', '/session/oidc', {}),
      program.send('POST', '/session/oidc/answer', { pending: 'x', answer: 'code=a&state=b' }),
      program.send('POST', '/invitations/preview', { token: invitation }),
    ]);
    for (const { headers, body } of [accepted, ...answers]) {
      expect(headers.get('runledger-session')).toBeNull();
      expect(JSON.stringify(body)).not.toContain(token);
    }
    // Its person accepts it with the session.
    expect((await owner.send('POST', '/invitations/accept', { token: invitation })).status).toBe(200);
  });

  it('belongs to no other token: neither to a guess, nor to that of a session of its own', async () => {
    const { email } = await aMember(bed.log, bed.tenant.org_id, 'viewer', { hasPassword: true });
    const mine = aBrowser(gateway.api);
    await mine.send('POST', '/session', { email, password: PASSWORD });
    const mixed = { ...mine.session(), ...stolen };
    for (const sent of [
      mixed,
      { ...stolen, 'runledger-session': 'x' },
      { ...stolen, 'runledger-session': token.slice(1) },
      { ...stolen, 'runledger-session': String(stolen.cookie).split('=')[1] },
    ]) {
      const program = aBrowser(gateway.api, sent);
      expect(await codeOf(program.send('GET', '/whoami'))).toEqual([401, 'not_signed_in']);
      expect(await codeOf(program.send('POST', '/api-keys', { name: 'a' }))).toEqual([401, 'not_signed_in']);
      expect((await program.send('GET', '/session')).body.user).toBeNull();
    }
    expect((await mine.send('GET', '/whoami')).body.user.id).not.toBe(person.id);
  });

  it('is put into the browser of somebody else in vain: their page still has its own token', async () => {
    const { email } = await aMember(bed.log, bed.tenant.org_id, 'viewer', { hasPassword: true });
    const mallory = aBrowser(gateway.api);
    await mallory.send('POST', '/session', { email, password: PASSWORD });
    const page = aBrowser(gateway.api, { ...owner.session(), cookie: mallory.session().cookie });
    expect((await page.send('GET', '/session')).body.user).toBeNull();
    expect(await codeOf(page.send('GET', '/whoami'))).toEqual([401, 'not_signed_in']);
  });
});

describe('the token of a session without its cookie', () => {
  it('is refused, with what is missing', async () => {
    const page = aBrowser(gateway.api, { 'runledger-session': token });
    const { status, body } = await page.send('GET', '/whoami');
    expect([status, body.code]).toEqual([401, 'session_incomplete']);
    expect(body.detail).toMatch(/lacks the cookie.*sign in again/s);
    expect(await codeOf(page.send('DELETE', '/session'))).toEqual([401, 'session_incomplete']);
    expect((await page.send('GET', '/session')).body.user).toBeNull();
  });
});

describe('both halves of a session', () => {
  it('are taken by every gateway, and the page that lost one can sign in again', async () => {
    expect((await aBrowser(other.api, owner.session()).send('GET', '/whoami')).body.user.id).toBe(person.id);
    const page = aBrowser(gateway.api, stolen);
    const signIn = { email: person.email, password: PASSWORD };
    expect((await page.send('POST', '/session', signIn)).status).toBe(200);
    expect((await page.send('GET', '/whoami')).body.user.id).toBe(person.id);
  });
});

describe('a page of another site', () => {
  it('signs its visitor in as nobody, and sends no token, also where it may call the API', async () => {
    const app = 'https://app.example.com';
    const open = await bed.gateway({ environment: { RUNLEDGER_CORS_ORIGINS: app } });
    // The types that a page may send to another origin without being asked first.
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const answer = await fetch(`${open.api}/session`, {
        method: 'POST',
        headers: { origin: app, 'content-type': type },
        body: JSON.stringify({ email: person.email, password: PASSWORD }),
      });
      expect([answer.status, answer.headers.getSetCookie()]).toEqual([415, []]);
    }
    const asked = await fetch(`${open.api}/session`, {
      method: 'OPTIONS',
      headers: { origin: app, 'access-control-request-method': 'POST' },
    });
    expect(asked.headers.get('access-control-allow-origin')).toBe(app);
    expect(asked.headers.get('access-control-allow-credentials')).toBeNull();
    expect(asked.headers.get('access-control-allow-headers')).not.toMatch(/runledger-session/i);
    expect(asked.headers.get('access-control-expose-headers') ?? '').not.toMatch(/runledger-session/i);
  });
});
