import type { Schemas } from '../api/schemas.ts';

interface ConsolePage {
  readonly to:
    | '/runs'
    | '/deployments'
    | '/workflows'
    | '/machines'
    | '/fleet'
    | '/webhooks'
    | '/keys'
    | '/people'
    | '/usage'
    | '/audit'
    | '/system';
  readonly title: string;
  /** Left out for whoever has none of them. */
  readonly scopes?: readonly Schemas['ApiKey']['scopes'][number][];
}

/** The pages that the navigation leads to, in its order. */
export const PAGES: readonly ConsolePage[] = [
  { to: '/runs', title: 'Runs' },
  { to: '/deployments', title: 'Deployments' },
  { to: '/workflows', title: 'Workflows' },
  { to: '/machines', title: 'Machines' },
  { to: '/fleet', title: 'Fleet' },
  { to: '/webhooks', title: 'Webhooks' },
  { to: '/keys', title: 'API keys' },
  { to: '/people', title: 'People', scopes: ['admin'] },
  { to: '/usage', title: 'Usage' },
  { to: '/audit', title: 'Audit', scopes: ['admin', 'operator'] },
  { to: '/system', title: 'System', scopes: ['operator'] },
];
