import { Schedule } from '@runledger/contracts/catalogue/schedules';
import { openBucket } from '@runledger/event-log/streams/bucket';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { listed, type Listed } from './catalogue/known-records.ts';
import { openRecords, type Records } from './catalogue/records.ts';

type ListedSchedule = Listed & Pick<Schedule, 'name'> & Pick<Schedule['request'], 'deployment_id'>;

export type ScheduleRecords = Records<Schedule, ListedSchedule>;

const KIND = 'schedules';

/** The schedules of all organisations, as operations read and change them. */
export const scheduleRecords = (log: EventLog): ScheduleRecords => {
  const records = openRecords(openBucket(log, 'SCHEDULES', Schedule), KIND, (schedule) => ({
    ...listed(schedule),
    name: schedule.name,
    deployment_id: schedule.request.deployment_id,
  }));
  // A broker that was unavailable may have been restored from an older copy of its log.
  log.onReconnect(() => records.forget());
  return records;
};

/** The subjects of those of an organisation. */
export const schedulesOf = (org_id: string): string => `$KV.SCHEDULES.${KIND}.${org_id}.>`;

/** The organisation in the key of a schedule. */
export const orgOfKey = (key: string): string => key.split('.')[1] ?? '';
