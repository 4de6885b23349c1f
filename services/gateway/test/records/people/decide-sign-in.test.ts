import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideSignIn, type Claimant } from '../../../src/records/people/provider-routes.ts';

const ada = { id: 'ada', email: 'ada@example.com', name: 'Ada' };
const nobody: Claimant = {
  identity: { email: ada.email },
  linked: undefined,
  owner: undefined,
  invitation: undefined,
  signedIn: undefined,
};
const invitation = { email: ada.email };
const member = { person: ada, isMember: true };

describe('somebody who has signed in at the provider', () => {
  it('is the person whose identity it is, whatever the e-mail', () => {
    const known = { kind: 'known', person: ada };
    expect(decideSignIn({ ...nobody, linked: ada, identity: { email: undefined } })).toEqual(known);
    expect(decideSignIn({ ...nobody, linked: ada, identity: { email: 'eve@example.com' } })).toEqual(known);
    expect(decideSignIn({ ...nobody, linked: ada, invitation })).toEqual(known);
  });

  it('becomes the member with the verified e-mail, whose password stays if they are signed in', () => {
    const link = { kind: 'link', person: ada };
    expect(decideSignIn({ ...nobody, owner: member })).toEqual({ ...link, keepsPassword: false });
    expect(decideSignIn({ ...nobody, owner: member, signedIn: 'eve' })).toEqual({
      ...link,
      keepsPassword: false,
    });
    expect(decideSignIn({ ...nobody, owner: member, signedIn: ada.id })).toEqual({
      ...link,
      keepsPassword: true,
    });
  });

  it('becomes a new person with an invitation only', () => {
    expect(decideSignIn({ ...nobody, invitation })).toEqual({ kind: 'create', email: ada.email });
    expect(decideSignIn(nobody)).toEqual({ kind: 'refused', why: 'person_unknown' });
    const left = { person: ada, isMember: false };
    expect(decideSignIn({ ...nobody, owner: left })).toEqual({ kind: 'refused', why: 'person_unknown' });
  });

  it('gets nothing of an e-mail that is not theirs', () => {
    const email = fc.constantFrom('ada@example.com', 'eve@example.com');
    const person = fc.record({ id: fc.constantFrom('ada', 'eve'), email, name: fc.constant('Ada') });
    const claimant = fc.record({
      identity: fc.record({ email: fc.option(email, { nil: undefined }) }),
      linked: fc.option(person, { nil: undefined }),
      owner: fc.option(fc.record({ person, isMember: fc.boolean() }), { nil: undefined }),
      invitation: fc.option(fc.record({ email }), { nil: undefined }),
      signedIn: fc.option(fc.constantFrom('ada', 'eve'), { nil: undefined }),
    });
    fc.assert(
      fc.property(claimant, (given) => {
        const { identity, linked, owner, invitation: invited } = given;
        const decision = decideSignIn(given);
        const proven = linked?.email ?? identity.email;
        const isInvited = invited === undefined || invited.email === proven;
        const permitted = {
          refused: true,
          known: linked !== undefined,
          link: linked === undefined && owner !== undefined && identity.email !== undefined,
          create: owner === undefined && invited !== undefined,
        };
        expect(permitted[decision.kind]).toBe(true);
        expect(decision.kind === 'refused' || (proven !== undefined && isInvited)).toBe(true);
        const person = 'person' in decision ? decision.person : undefined;
        expect([undefined, linked, owner?.person]).toContain(person);
      }),
    );
  });
});
