import { newOwnerLink } from '@runledger/gateway/records/people/sign-in-links';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aRealGateway, type RealGateway } from '../fixtures/real-gateway.ts';

const EMAIL = 'owner@standalone.local';

let gateway: RealGateway;
beforeAll(async () => {
  gateway = await aRealGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

const signIn = (token: string): Promise<Response> =>
  fetch(`${gateway.env['RUNLEDGER_URL']}/session/link`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });

describe('runledger accounts invite', () => {
  it('prints a link with which somebody becomes a member, as its role says', async () => {
    const { code, stdout, stderr } = await gateway.cli([
      'accounts',
      'invite',
      'ada@example.com',
      '--role',
      'viewer',
    ]);
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('It makes ada@example.com a member with the role viewer, once, until '),
    ]);
    const [, token = ''] = /^http:\/\/\S+\/console\/invitation#token=(\S+)\n$/.exec(stdout) ?? [];
    const shown = await fetch(`${gateway.env['RUNLEDGER_URL']}/invitations/preview`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
    });
    expect([shown.status, await shown.json()]).toMatchObject([
      200,
      { email: 'ada@example.com', role: 'viewer' },
    ]);
    const json = await gateway.cli(['accounts', 'invite', 'alan@example.com', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ role: 'developer', url: expect.any(String) });
  });

  it('is refused for a role that there is not', async () => {
    const { code, stderr } = await gateway.cli(['accounts', 'invite', 'ada@example.com', '--role', 'king']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('owner, developer, viewer')]);
  });
});

describe('runledger accounts link', () => {
  it('prints a link that signs a member in, and nobody else', async () => {
    expect(await gateway.cli(['accounts', 'link', EMAIL])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Member not found'),
    });
    const owner = { email: EMAIL, owner_of: gateway.org_id };
    const { token } = await newOwnerLink(gateway.log, owner);
    expect((await signIn(token)).status).toBe(200);

    const { code, stdout, stderr } = await gateway.cli(['accounts', 'link', EMAIL]);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`It signs ${EMAIL} in once, until `)]);
    const [, made = ''] = /^http:\/\/\S+\/console\/sign-in#token=(\S+)\n$/.exec(stdout) ?? [];
    const answer = await signIn(made);
    expect([answer.status, await answer.json()]).toMatchObject([200, { user: { email: EMAIL } }]);
    const again = await signIn(made);
    expect([again.status, await again.json()]).toMatchObject([410, { code: 'sign_in_link_gone' }]);
    const json = await gateway.cli(['accounts', 'link', EMAIL, '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ email: EMAIL, url: expect.any(String) });
  });
});
