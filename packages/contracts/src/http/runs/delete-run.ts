import { Type, type Static } from 'typebox';
import { Uuid } from '../fields/values.ts';

export const DeleteRunResponse = Type.Object(
  { run_id: Uuid, outcome: Type.Literal('deleted') },
  { title: 'DeleteRunResponse' },
);
export type DeleteRunResponse = Static<typeof DeleteRunResponse>;

export const DeleteOutputsResponse = Type.Object(
  {
    run_id: Uuid,
    outcome: Type.Enum(['deleted', 'already_deleted'], {
      description: '`already_deleted`: an earlier request deleted them.',
    }),
  },
  { title: 'DeleteOutputsResponse' },
);
export type DeleteOutputsResponse = Static<typeof DeleteOutputsResponse>;
