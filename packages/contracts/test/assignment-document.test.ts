import { Value } from 'typebox/value';
import { expect, it } from 'vitest';
import { AssignmentDocument } from '../src/assignment-document.ts';
import { MAX_SECRETS } from '../src/catalogue/code.ts';
import { MAX_ORGANISATION_SECRET_BYTES } from '../src/http/catalogue/secrets.ts';
import { MAX_ASSIGNMENT_BYTES, MAX_INPUTS_BYTES, MAX_WORKFLOW_BYTES } from '../src/limits.ts';

/** JSON of so many bytes that has as many again when it is a text in JSON. */
const quotes = (bytes: number): string => `"${'\\"'.repeat((bytes - 2) / 2)}"`;

it('the largest assignment document fits its limit', () => {
  // What is sealed has at least four bytes of the inputs for three of the value.
  const sealedBytes = (MAX_INPUTS_BYTES * 3) / 4;
  // Definitions of inputs have at most 64 KiB, of which a target repeats some.
  const target = { name: 'n', node: 'n', field: 'f'.repeat(220) };
  const document: AssignmentDocument = {
    workflow: quotes(MAX_WORKFLOW_BYTES),
    inputs: quotes(MAX_INPUTS_BYTES),
    secret_inputs: { a: '\u0001'.repeat(sealedBytes) },
    input_targets: Array.from({ length: 256 }, () => target),
    secrets: Object.fromEntries(
      Array.from({ length: MAX_SECRETS }, (_, index) => [
        `V${index}`,
        '\u0001'.repeat(MAX_ORGANISATION_SECRET_BYTES),
      ]),
    ),
    log_masks: Array.from({ length: 20 }, () => '\u0001'.repeat(256)),
  };
  expect(Value.Check(AssignmentDocument, document)).toBe(true);
  expect(Buffer.byteLength(JSON.stringify(document))).toBeLessThan(MAX_ASSIGNMENT_BYTES);
});
