import { MAX_WEIGHT, MIN_WEIGHT } from '@runledger/contracts/run-options';
import { MAX_SLOTS } from '@runledger/simulate/what-if/changes';
import { Table } from '../ui/list.tsx';
import type { ReactNode, SubmitEvent } from 'react';
import { useSession } from '../session/use-session.ts';
import { submitted } from '../ui/submitted.ts';
import { shortId } from '../ui/words.ts';
import type { DaySummary, Tried } from '@runledger/simulate/what-if/outcome';
import { fieldOf, triedIn } from './tried-settings.ts';

interface TriedFormProps {
  readonly day: DaySummary;
  readonly isPending: boolean;
  readonly onPlay: (tried: Tried) => void;
}

/** Those with the most runs get fields. */
const MOST_ORGANISATIONS = 30;

/** What the settings of that day were, as the log does not say it, and what is tried. */
export const TriedForm = ({ day, isPending, onPlay }: TriedFormProps): ReactNode => {
  const shown = { ...day, organisations: day.organisations.slice(0, MOST_ORGANISATIONS) };
  const submit = (event: SubmitEvent<HTMLFormElement>): void => onPlay(triedIn(shown, submitted(event)));
  return (
    <form className="panel stack" onSubmit={submit} aria-label="What is tried">
      <p>
        An empty field changes nothing. The log does not say which weights and limits the schedulers had that
        day: without an entry a weight was 1, and nothing was limited.
      </p>
      <Slots gpus={shown.gpus} />
      <Organisations organisations={shown.organisations} />
      <div>
        <button type="submit" className="primary" disabled={isPending}>
          {isPending ? 'Playing the day …' : 'Play the day'}
        </button>
      </div>
    </form>
  );
};

const Slots = ({ gpus }: Pick<DaySummary, 'gpus'>): ReactNode => (
  <Table label="Slots to try" columns={['GPU model', 'Slots that day, on average', 'Slots to try']}>
    {gpus.map(([gpu, slots]) => (
      <tr key={gpu}>
        <th scope="row">{gpu}</th>
        <td>{slots.toFixed(1)}</td>
        <td>
          <input
            type="number"
            name={fieldOf.slots(gpu)}
            aria-label={`Slots of ${gpu} to try`}
            min={0}
            max={MAX_SLOTS}
            step={1}
          />
        </td>
      </tr>
    ))}
  </Table>
);

const Organisations = ({ organisations }: Pick<DaySummary, 'organisations'>): ReactNode => {
  const { data: session } = useSession();
  return (
    <Table
      label="Weights and limits to try"
      columns={['Organisation', 'Runs', 'Weight that day', 'Weight to try', 'Limit that day', 'Limit to try']}
    >
      {organisations.map(([id, runs]) => {
        const name = session?.organisations.find((each) => each.id === id)?.name ?? `…${shortId(id)}`;
        return (
          <tr key={id}>
            <th scope="row" title={id}>
              {name}
            </th>
            <td>{runs.toLocaleString('en')}</td>
            <Weight name={fieldOf.weightBefore(id)} label={`Weight of ${name} that day`} />
            <Weight name={fieldOf.weight(id)} label={`Weight of ${name} to try`} />
            <Limit name={fieldOf.limitBefore(id)} label={`Limit of ${name} that day`} />
            <Limit name={fieldOf.limit(id)} label={`Limit of ${name} to try`} />
          </tr>
        );
      })}
    </Table>
  );
};

interface FieldProps {
  readonly name: string;
  readonly label: string;
}

const Weight = ({ name, label }: FieldProps): ReactNode => (
  <td>
    <input type="number" name={name} aria-label={label} min={MIN_WEIGHT} max={MAX_WEIGHT} step="any" />
  </td>
);

const Limit = ({ name, label }: FieldProps): ReactNode => (
  <td>
    <input type="number" name={name} aria-label={label} min={1} max={MAX_SLOTS} step={1} />
  </td>
);
