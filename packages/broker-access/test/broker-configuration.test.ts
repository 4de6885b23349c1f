import { describe, expect, it } from 'vitest';
import { brokerConfiguration } from '../src/broker-configuration.ts';
import { debuggerUser, operatorUser } from '../src/broker-user.ts';
import { aUser } from './a-user.ts';

const operator = { user: operatorUser(), publicKey: 'UOPERATOR' };
const looker = { user: debuggerUser(), publicKey: 'UDEBUGGER' };

describe('the configuration of a broker', () => {
  it('is the same text for the same users in any order', () => {
    expect(brokerConfiguration([operator, looker])).toBe(brokerConfiguration([looker, operator]));
  });

  it('gives each user an account, and imports what it may publish from the account of the log', () => {
    const writer = {
      user: aUser('writer', ['runs.a', '$JS.RUNLEDGER.API.STREAM.INFO.RUNS']),
      publicKey: 'UWRITER',
    };
    const text = brokerConfiguration([operator, writer]);
    expect(text).toContain('"writer" {');
    expect(text).toContain('nkey: "UWRITER"');
    expect(text).toContain('{service: {account: "RUNLEDGER", subject: "runs.a"}}');
    expect(text).toContain(
      '{service: {account: "RUNLEDGER", subject: "$JS.API.STREAM.INFO.RUNS"}, to: "$JS.RUNLEDGER.API.STREAM.INFO.RUNS"}',
    );
    expect(text).toContain('{service: "runs.a", accounts: ["writer"]}');
  });

  it('exports a subject from the account of its writer to its subscribers', () => {
    const writer = { user: aUser('writer', ['activity.*.a']), publicKey: 'UWRITER' };
    const reader = { user: aUser('reader', ['other'], ['activity.>']), publicKey: 'UREADER' };
    const text = brokerConfiguration([operator, writer, reader]);
    expect(text).toContain('{stream: {account: "writer", subject: "activity.*.a"}}');
    expect(text).toContain('{stream: "activity.*.a", accounts: ["reader"]}');
  });

  it.each([
    ['without an operator', [looker]],
    ['with two operators', [operator, { ...operator, publicKey: 'UOTHER' }]],
    ['with two users of a name', [operator, looker, { ...looker, publicKey: 'UOTHER' }]],
    ['with two users of a key', [operator, { ...looker, publicKey: 'UOPERATOR' }]],
    ['with a name that would end its quotes', [operator, { user: aUser('a" {', []), publicKey: 'UOTHER' }]],
    [
      'with a subject that contains a line break',
      [operator, { user: aUser('a', ['b\nc']), publicKey: 'UOTHER' }],
    ],
  ])('is not generated %s', (_what, users) => {
    expect(() => brokerConfiguration(users)).toThrow(TypeError);
  });
});
