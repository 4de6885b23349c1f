import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { errorMessage } from '../../src/events/run-error.ts';
import { MAX_FACT_BYTES } from '../../src/fold/log-capacity.ts';
import { parseRunEvent, RUN_EVENTS, RUN_EVENT_TYPES } from '../../src/events/run-event.ts';
import { parseWebhookEvent, WEBHOOK_EVENTS, WEBHOOK_EVENT_TYPES } from '../../src/events/webhook-event.ts';
import { jsonBytes, type JsonValue } from '../../src/json.ts';
import { MAX_ERROR_MESSAGE } from '../../src/limits.ts';
import { extremeData, extremeEnvelope } from '../fixtures/extreme-events.ts';
import { anyCharacter } from '../fixtures/any-character.ts';

const bytes = (event: object): number => jsonBytes(event as JsonValue);

describe('an event whose members are as long as they can be', () => {
  it.each(RUN_EVENT_TYPES)('%s is valid and has no more bytes than its fact may have', (type) => {
    const { version } = RUN_EVENTS[type].schema.properties;
    const about = { attempt: 100, executor_id: `${'b'.repeat(51)}.${'f'.repeat(12)}` };
    fc.assert(
      fc.property(extremeEnvelope, extremeData[type], (envelope, data) => {
        const linked = type === 'RunQueued' ? {} : { previous_sha256: 'x'.repeat(43) };
        const event = { type, version: version.const, ...envelope, ...about, ...linked, data };
        expect(parseRunEvent(event)).toMatchObject({ kind: 'event' });
        expect(bytes(event)).toBeLessThanOrEqual(MAX_FACT_BYTES[type]);
      }),
    );
  });

  it.each(WEBHOOK_EVENT_TYPES)('%s is valid and has no more bytes than its fact may have', (type) => {
    const { version } = WEBHOOK_EVENTS[type].schema.properties;
    fc.assert(
      fc.property(extremeEnvelope, extremeData[type], (envelope, data) => {
        const event = { type, version: version.const, ...envelope, round: 50, data };
        expect(parseWebhookEvent(event)).toMatchObject({ kind: 'event' });
        expect(bytes(event)).toBeLessThanOrEqual(MAX_FACT_BYTES[type]);
      }),
    );
  });
});

describe('an error message', () => {
  const anyText = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 3 * MAX_ERROR_MESSAGE }),
    fc.string({ maxLength: 3 * MAX_ERROR_MESSAGE }),
    fc.constantFrom('\u0001', '"', '語', '😀', '\ud800').map((unit) => unit.repeat(2 * MAX_ERROR_MESSAGE)),
  );

  it('fits its limit, and is the beginning of the text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const message = errorMessage(text);
        expect(jsonBytes(message) - 2).toBeLessThanOrEqual(MAX_ERROR_MESSAGE);
        const whole = text.toWellFormed();
        // A pair that the limit cuts in two leaves one replaced half.
        expect(whole.startsWith(message) || message.includes('\ufffd')).toBe(true);
        const isShort = jsonBytes(whole) - 2 <= MAX_ERROR_MESSAGE;
        expect(isShort ? message === whole : jsonBytes(message) - 2 > MAX_ERROR_MESSAGE - 12).toBe(true);
      }),
    );
  });
});
