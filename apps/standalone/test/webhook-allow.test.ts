import { describe, expect, it } from 'vitest';
import { webhookAllowOf } from '../src/settings.ts';

describe('where webhooks may go besides public addresses, without a setting', () => {
  it.each(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', 'localhost', 'LOCALHOST'])(
    'is loopback while the API listens at %s',
    (host) => {
      expect(webhookAllowOf(undefined, host)).toEqual({ entries: ['loopback'], isSet: false });
    },
  );

  it.each(['0.0.0.0', '::', '192.168.1.7', 'fd00::7', '8.8.8.8', 'runs.example', 'localhost.example'])(
    'is nowhere while the API listens at %s',
    (host) => {
      expect(webhookAllowOf(undefined, host)).toEqual({ entries: [], isSet: false });
    },
  );
});

describe('where webhooks may go besides public addresses, by the setting', () => {
  it.each(['127.0.0.1', '0.0.0.0', '192.168.1.7'])('is what it says while the API listens at %s', (host) => {
    expect(webhookAllowOf(['loopback'], host)).toEqual({ entries: ['loopback'], isSet: true });
    expect(webhookAllowOf([], host)).toEqual({ entries: [], isSet: true });
  });
});
