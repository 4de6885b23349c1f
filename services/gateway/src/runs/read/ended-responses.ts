import type { Run } from '@runledger/contracts/fold/run';
import { RenderedJson } from '../../http/rendered-json.ts';
import type { RunView } from '../../projection/core/run-view.ts';
import type { Audience } from '../../webhooks/core/show-callback.ts';

type ShownView = Pick<RunView, 'run' | 'webhook'>;

/**
 * Responses of runs that have ended, as they were written. Each belongs to one object of a view, and is kept as long as that is in
 * memory: a later fact makes another object, so a response is never older than the view that it is found by.
 */
export interface EndedResponses {
  readonly find: (shown: ShownView, audience: Audience) => RenderedJson | undefined;
  readonly keep: (shown: ShownView, audience: Audience, response: unknown) => RenderedJson;
}

interface Kept {
  readonly webhook: RunView['webhook'];
  readonly responses: Map<Audience, RenderedJson>;
}

export const endedResponses = (): EndedResponses => {
  const kept = new WeakMap<Run, Kept>();
  const of = ({ run, webhook }: ShownView): Kept | undefined => {
    const known = kept.get(run);
    return known?.webhook === webhook ? known : undefined;
  };
  return {
    find: (shown, audience) => of(shown)?.responses.get(audience),
    keep: (shown, audience, response) => {
      const rendered = new RenderedJson(response);
      const { responses } = of(shown) ?? { responses: new Map<Audience, RenderedJson>() };
      responses.set(audience, rendered);
      kept.set(shown.run, { webhook: shown.webhook, responses });
      return rendered;
    },
  };
};
