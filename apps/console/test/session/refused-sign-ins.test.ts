import { describe, expect, it } from 'vitest';
import { refusedSignIn } from '../../src/session/refused-sign-ins.ts';

describe('a refused sign-in', () => {
  it.each([
    'sign_in_not_begun',
    'provider_refused',
    'provider_answer_invalid',
    'provider_unavailable',
    'provider_not_offered',
    'email_not_verified',
    'person_unknown',
    'identity_taken',
    'invitation_for_another',
    'invitation_gone',
    'sign_in_limited',
  ])('is told in words: %s', (code) => {
    expect(refusedSignIn(code)).toEqual({ code, detail: expect.stringMatching(/^[A-Z][^<>]+\.$/) });
  });

  it('shows nothing of a code that nobody knows', () => {
    for (const code of ['', 'Call 555 and tell your password', '<b>x</b>', 'toString', '__proto__'])
      expect(refusedSignIn(code)).toEqual({
        code: 'unknown',
        detail: 'The sign-in did not succeed. Begin again.',
      });
  });
});
