import { describe, expect, it } from 'vitest';
import { permissions } from '../../src/checks/permissions.ts';
import { aSoak, second } from '../fixtures/a-soak.ts';

const tried = { user: 'notifier', action: 'publish', subject: '$KV.KEYS.one', at: second(2) } as const;

describe('a user of the broker', () => {
  it('is refused what it may not do', () => {
    expect(permissions(aSoak({ trespasses: [{ ...tried, refused: true }] }))).toEqual([]);
    expect(permissions(aSoak({ trespasses: [{ ...tried, refused: false }] }))).toMatchObject([
      { message: 'notifier could publish to $KV.KEYS.one.' },
    ]);
  });

  it('is never refused anything else', () => {
    const line = 'cid:7 - "v3:nats.js:notifier" - Publish Violation - Subject "runs.x"';
    expect(permissions(aSoak({ brokerRefusals: [line] }))).toMatchObject([
      { message: `The broker refused a service: ${line}` },
    ]);
  });
});
