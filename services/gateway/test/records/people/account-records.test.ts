import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aTrail, type ATrail } from '../audit/a-trail.ts';
import { aBrowser, aMember, anEmail, PASSWORD } from '../../fixtures/accounts/a-browser.ts';
import { accept, anOrganisation, invite } from '../../fixtures/accounts/an-organisation.ts';

let trail: ATrail;
beforeAll(async () => {
  trail = await aTrail();
});
afterAll(() => trail[Symbol.asyncDispose]());

describe('what people do', () => {
  it('has audit records, with no secret, no e-mail and no password in them', async () => {
    const { bed, gateway } = trail;
    const { org_id, owner } = await anOrganisation(bed, gateway, { operator: true });
    const person = await aMember(bed.log, org_id, 'viewer', { hasPassword: true });
    const browser = aBrowser(gateway.api);
    const signedIn = await browser.send('POST', '/session', { email: person.email, password: PASSWORD });
    expect(signedIn.status).toBe(200);
    const passwords = { password: 'another password', current_password: PASSWORD };
    expect((await browser.send('POST', '/account/password', passwords)).status).toBe(204);
    expect((await browser.send('DELETE', '/session')).status).toBe(204);
    const invitation = await invite(owner, anEmail(), 'developer');
    const accepted = await accept(aBrowser(gateway.api), invitation.token);
    expect(accepted.status).toBe(200);
    const user_id = accepted.body.user.id;

    const records = await trail.read(trail.operator, `&organisation=${org_id}`);
    const done = records.filter(({ stage }) => stage === 'completed').toReversed();
    const ofPerson = expect.objectContaining({
      kind: 'session',
      user_id: person.id,
      org_id,
      address: '127.0.0.1',
    });
    const unknown = { kind: 'unknown', network: '127.0.0.0/24' };
    expect(
      done.map(({ action, actor, target, outcome, details }) => [action, actor, target, outcome, details]),
    ).toEqual([
      ['session.created', ofPerson, { kind: 'session', id: expect.any(String) }, 'done', { by: 'password' }],
      ['password.changed', ofPerson, { kind: 'password', id: person.id }, 'done', undefined],
      ['session.ended', ofPerson, { kind: 'session', id: expect.any(String) }, 'done', undefined],
      [
        'invitation.created',
        expect.objectContaining({ kind: 'session', org_id }),
        { kind: 'invitation', id: invitation.id },
        'done',
        { role: 'developer', expires_at: invitation.expires_at, organisation_id: org_id },
      ],
      [
        'member.added',
        unknown,
        { kind: 'member', id: user_id },
        'done',
        { role: 'developer', operator: false },
      ],
      ['invitation.accepted', unknown, { kind: 'invitation', id: invitation.id }, 'done', { user_id }],
      [
        'session.created',
        expect.objectContaining({ kind: 'session', user_id }),
        { kind: 'session', id: expect.any(String) },
        'done',
        { by: 'invitation' },
      ],
    ]);
    const text = JSON.stringify(records);
    for (const secret of [PASSWORD, 'another password', '@example.com', invitation.token])
      expect(text).not.toContain(secret);
    const listed = await trail.read(trail.operator, `&user_id=${person.id}`);
    expect(listed.length).toBeGreaterThanOrEqual(6);
  });
});
