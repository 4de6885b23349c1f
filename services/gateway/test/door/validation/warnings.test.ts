import { anyCharacter } from '@runledger/contracts/test/fixtures/any-character';
import { DeploymentRunRequest } from '@runledger/contracts/http/runs/queue-run';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unknownMembers, warningsOf } from '../../../src/door/unknown-names.ts';

describe('warnings', () => {
  it('have only characters that a header may have, and fit into one, for any names', () =>
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: anyCharacter, maxLength: 300 }), fc.constant(1)),
        fc.array(fc.string({ unit: anyCharacter, maxLength: 300 })),
        (body, parameters) => {
          const warnings = warningsOf(unknownMembers(DeploymentRunRequest, body), parameters, ['wait']);
          expect(warnings.length).toBeLessThanOrEqual(8);
          for (const warning of warnings) expect(warning).toMatch(/^unknown [\x20-\x7e]{1,350}$/);
        },
      ),
    ));
});
