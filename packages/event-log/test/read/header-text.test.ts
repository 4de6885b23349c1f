import { MsgHdrsImpl } from '@nats-io/transport-node';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeaderText } from '../../src/read/stored-message.ts';

const NAMES = ['Nats-Subject', 'Nats-Subject-Of', 'Subject', 'nats-subject', 'traceparent'];
const lines = fc.array(fc.tuple(fc.constantFrom(...NAMES), fc.stringMatching(/^[ -~äö😀]{0,20}$/u)), {
  maxLength: 6,
});

const encoded = (statusLine: string, of: readonly (readonly string[])[]): string =>
  [statusLine, ...of.map(([name, value]) => `${name}:${value}`), '', ''].join('\r\n');

describe('the text of headers', () => {
  it('has the values that the driver finds', () => {
    fc.assert(
      fc.property(lines, (written) => {
        const text = encoded('NATS/1.0', written);
        const [found, driver] = [new HeaderText(text), MsgHdrsImpl.decode(Buffer.from(text))];
        for (const name of [...NAMES, 'Other']) {
          expect(found.get(name)).toBe(driver.get(name));
          expect(found.last(name)).toBe(driver.last(name));
        }
      }),
    );
  });

  it.each(['NATS/1.0', 'NATS/1.0 ', 'NATS/1.0 204 EOB', 'NATS/1.0 404 Message Not Found', 'NATS/1.0 503'])(
    'has the status of "%s" that the driver finds',
    (statusLine) => {
      const text = encoded(statusLine, [['Nats-Sequence', '12']]);
      expect(new HeaderText(text).code).toBe(MsgHdrsImpl.decode(Buffer.from(text)).code);
    },
  );
});
