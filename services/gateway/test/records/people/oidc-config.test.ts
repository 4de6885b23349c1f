import { problemsOf } from '@runledger/service-kit/config';
import { describe, expect, it } from 'vitest';
import { oidcSettings } from '../../../src/records/people/oidc-config.ts';
import { readGatewayConfig } from '../../../src/config.ts';
import { A_SECRET_KEY } from '../../fixtures/gateway/a-gateway.ts';

const OTHERS = { RUNLEDGER_SECRET_KEYS: A_SECRET_KEY };
const ALL = {
  RUNLEDGER_OIDC_ISSUER: 'https://accounts.example.com/realms/acme',
  RUNLEDGER_OIDC_CLIENT_ID: 'runledger',
  RUNLEDGER_OIDC_CLIENT_SECRET: 'a secret',
};

describe('the settings of the sign-in with OpenID Connect', () => {
  it('are off when none is set, and on when all are', () => {
    expect(oidcSettings(readGatewayConfig(OTHERS))).toBeUndefined();
    expect(oidcSettings(readGatewayConfig({ ...OTHERS, ...ALL }))).toEqual({
      issuer: ALL.RUNLEDGER_OIDC_ISSUER,
      clientId: 'runledger',
      clientSecret: 'a secret',
      name: 'your organisation',
    });
  });

  it.each(Object.keys(ALL))('are wrong without %s', async (variable) => {
    const problems = await problemsOf(() => readGatewayConfig({ ...OTHERS, ...ALL, [variable]: '' }));
    expect(problems.map((problem) => [problem.variable, problem.wrong])).toEqual([
      [variable, expect.stringMatching(/^is not set, and RUNLEDGER_OIDC_\w+ and RUNLEDGER_OIDC_\w+ are$/)],
    ]);
  });

  it('take an issuer at an address that nobody can listen to or change', async () => {
    const accepts = async (issuer: string): Promise<boolean> =>
      (await problemsOf(() => readGatewayConfig({ ...OTHERS, ...ALL, RUNLEDGER_OIDC_ISSUER: issuer })))
        .length === 0;
    for (const issuer of [
      'https://a.example',
      'http://127.0.0.1:9000',
      'http://localhost:9000/x',
      'http://[::1]:1',
    ])
      expect([issuer, await accepts(issuer)]).toEqual([issuer, true]);
    for (const issuer of [
      'http://a.example',
      'http://127.0.0.1.evil.example',
      'accounts.example.com',
      'https://a.example?x=1',
      'https://me:secret@a.example',
      'ftp://a.example',
    ])
      expect([issuer, await accepts(issuer)]).toEqual([issuer, false]);
  });
});
