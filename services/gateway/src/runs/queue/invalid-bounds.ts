import { invalid, type Invalid } from '../../http/refusal.ts';
import { aboveMaximum, belowMinimum } from '../../validation/pydantic-words.ts';
import type { BeyondBound } from './core/request-bounds.ts';

/** Values that the deployment does not allow, as a client sees it: which setting of it bounds them, and what to do. */
export const invalidBounds = (beyond: readonly BeyondBound[]): Invalid[] =>
  beyond.map(({ member, kind, bound, setting }) => {
    const { type, msg } = kind === 'below_minimum' ? belowMinimum(Number(bound)) : aboveMaximum(bound);
    return invalid(
      ['body', member],
      type,
      `${msg}, as \`${setting}\` of the deployment says. Send such a value, or change the deployment`,
    );
  });
