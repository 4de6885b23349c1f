import { Schedule, SchedulePage } from '@runledger/contracts/http/catalogue/schedules';
import { idByName } from './named-records.ts';
import type { RecordKind } from './records.ts';

const listed: Pick<RecordKind<Schedule>, 'what' | 'path' | 'readPage'> = {
  what: 'Schedule',
  path: '/schedules',
  // Schedules are never archived, and the service refuses a parameter that it does not know.
  readPage: async (call, { query: { archived, ...query } = {}, ...request }) => {
    if (archived === true) return { items: [], next_cursor: null };
    const page = await call(SchedulePage, { ...request, query });
    return { ...page, items: page.schedules };
  },
};

/** How schedules are read and found, also by options that name one. */
export const listedSchedules: Pick<RecordKind<Schedule>, 'what' | 'path' | 'readPage' | 'idOf' | 'send'> = {
  ...listed,
  idOf: idByName(listed),
  send: (call, request) => call(Schedule, request),
};
