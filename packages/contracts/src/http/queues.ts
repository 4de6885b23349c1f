import { Type } from 'typebox';
import { GpuModel } from '../gpu.ts';
import { Pool } from '../requests/pools.ts';
import { OrganisationUuid } from './fields/ids.ts';
import { Cursor, NextCursor, PageLimit } from './fields/values.ts';

export const QueuesQuery = Type.Object({
  gpu: Type.Optional({ ...GpuModel, description: 'Only this GPU model, in upper case.' }),
  organisation: Type.Optional({
    ...OrganisationUuid,
    description: 'Only runs of this organisation. Needs the scope `operator`, unless it is that of the key.',
  }),
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(Cursor),
});

export const QueuesPage = Type.Object(
  {
    pools: Type.Array(Pool, { description: 'Ordered by GPU model.' }),
    next_cursor: NextCursor,
  },
  { title: 'QueuesPage', description: 'A page of pools.' },
);
