import type { components } from '@runledger/client/api-types';

/** The schemas of the OpenAPI document by their names. */
export type Schemas = components['schemas'];

export type Run = Schemas['WorkflowRun'];
export type LogItem = Schemas['RunLogLine'] | Schemas['RunLogCut'] | Schemas['RunLogNotice'];
