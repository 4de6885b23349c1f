import { Table } from '../ui/list.tsx';
import { useEffect, useMemo, type ReactNode } from 'react';
import { useSession } from '../session/use-session.ts';
import { seconds, shortId } from '../ui/words.ts';
import type { Outcome as Played, OutcomeOfDay, Waits } from '@runledger/simulate/what-if/outcome';

/** Of the organisations, those with the most runs. */
const MOST_ORGANISATIONS = 20;

/** That day beside the simulated ones: waits, slots, and charts over the day. */
export const Outcome = ({ outcome: { model, days, charts } }: { readonly outcome: Played }): ReactNode => (
  <section className="stack" aria-label="Outcome">
    <h2>Outcome</h2>
    {model.map((sentence) => (
      <p key={sentence}>{sentence}</p>
    ))}
    <WaitTable days={days} />
    <SlotTable days={days} />
    {charts.map(({ file, title, svg }) => (
      <Picture key={file} title={title} svg={svg} />
    ))}
  </section>
);

const WaitTable = ({ days }: Pick<Played, 'days'>): ReactNode => {
  const { data: session } = useSession();
  const organisations = [...(days[0]?.byOrganisation ?? [])]
    .toSorted(([a, one], [b, other]) => other.runs - one.runs || (a < b ? -1 : 1))
    .slice(0, MOST_ORGANISATIONS);
  const nameOf = (id: string): string =>
    session?.organisations.find((each) => each.id === id)?.name ?? `…${shortId(id)}`;
  return (
    <Table
      label="How long runs wait"
      columns={['Organisation', 'Day', 'Runs', 'Half wait', '9 of 10 wait', '99 of 100 wait', 'The longest']}
    >
      {days.map((day) => (
        <WaitRow key={day.title} name="all" day={day} waits={day.all} />
      ))}
      {organisations.flatMap(([id]) =>
        days.map((day) => (
          <WaitRow
            key={`${id} ${day.title}`}
            name={nameOf(id)}
            day={day}
            waits={day.byOrganisation.get(id)}
          />
        )),
      )}
    </Table>
  );
};

interface WaitRowProps {
  readonly name: string;
  readonly day: OutcomeOfDay;
  readonly waits: Waits | undefined;
}

const WaitRow = ({ name, day, waits }: WaitRowProps): ReactNode => (
  <tr>
    <th scope="row">{name}</th>
    <td>{day.title}</td>
    <td>{(waits?.runs ?? 0).toLocaleString('en')}</td>
    {waits &&
      [waits.p50, waits.p90, waits.p99, waits.max].map((ms, column) => (
        // A column has no other key.
        <td key={column}>{seconds(ms / 1_000)}</td>
      ))}
  </tr>
);

const SlotTable = ({ days }: Pick<Played, 'days'>): ReactNode => {
  const gpus = [...new Set(days.flatMap(({ slots }) => [...slots.keys()]))].toSorted();
  return (
    <Table label="How much slots are used" columns={['GPU model', 'Day', 'Slots', 'Used']}>
      {gpus.flatMap((gpu) =>
        days.map(({ title, slots, utilisation }) => (
          <tr key={`${gpu} ${title}`}>
            <th scope="row">{gpu}</th>
            <td>{title}</td>
            <td>{(slots.get(gpu) ?? 0).toFixed(1)}</td>
            <td>{percentOf(utilisation.get(gpu))}</td>
          </tr>
        )),
      )}
    </Table>
  );
};

const percentOf = (part: number | null | undefined): string =>
  part === null || part === undefined ? '' : `${(100 * part).toFixed(1)} %`;

const Picture = ({ title, svg }: { readonly title: string; readonly svg: string }): ReactNode => {
  const address = useMemo(() => URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' })), [svg]);
  useEffect(() => () => URL.revokeObjectURL(address), [address]);
  return (
    <div className="scrolls" tabIndex={0} role="region" aria-label={title}>
      <img src={address} alt={`${title}, over the day`} />
    </div>
  );
};
