import { nullable } from '@runledger/contracts/http/fields/optional';
import { Type, type Static } from 'typebox';

const Text = Type.String();

/** The members of a run that exports have. A service of a later release may have more words for some of them. */
export const ExportedRun = Type.Object({
  id: Text,
  number: Type.Integer(),
  org_id: Text,
  user_id: Text,
  workflow_id: Text,
  workflow_version_id: Text,
  machine_id: Text,
  machine_type: Text,
  gpu: Text,
  origin: Text,
  status: Text,
  end_reason: nullable(Text),
  error: nullable(Type.Object({ kind: Text, message: Text, retryable: Type.Boolean() })),
  priority: Type.Integer(),
  concurrency_key: nullable(Text),
  tags: Type.Array(Text),
  rerun_of: nullable(Text),
  schedule: nullable(Type.Object({ id: Text })),
  created_at: Text,
  started_at: nullable(Text),
  ended_at: nullable(Text),
  updated_at: Text,
  duration: nullable(Type.Number()),
  cold_start_duration: nullable(Type.Number()),
  cold_start_duration_total: nullable(Type.Number()),
  run_duration: nullable(Type.Number()),
  progress: Type.Number(),
  attempts: Type.Array(
    Type.Object({
      executor: Text,
      placement: nullable(Type.Object({ choice: Text, waited_s: Type.Number() })),
    }),
  ),
  outputs: Type.Array(Type.Object({ data: Type.Record(Text, Type.Array(Type.Unknown())) })),
  webhook_status: nullable(Text),
});
export type ExportedRun = Static<typeof ExportedRun>;

export const ExportedRuns = Type.Object({
  runs: Type.Array(ExportedRun),
  next_cursor: nullable(Text),
});
