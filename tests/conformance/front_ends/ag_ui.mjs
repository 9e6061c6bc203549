// Sends one message after the other to a server with AG-UI's client, and prints the messages and events it then has.
import { HttpAgent } from '@ag-ui/client';

const [, , url, ...texts] = process.argv;
const agent = new HttpAgent({ url, threadId: 'thread-1' });
const events = [], errors = [], usage = [];
let runs = 0;
for (const text of texts) {
  // A text, or a list of answers to what the last run waits for.
  const resume = text.startsWith('[') ? JSON.parse(text).map((answer, index) => ({ interruptId: agent.pendingInterrupts[index].id, ...answer })) : undefined;
  if (!resume) agent.addMessage({ id: `m${agent.messages.length}`, role: 'user', content: text });
  try {
    await agent.runAgent({ runId: `run-${++runs}`, resume }, {
      onEvent: ({ event }) => { events.push(event.type); },
      onRunErrorEvent: ({ event }) => { errors.push(event.message); },
      onRunFinishedEvent: ({ event }) => { usage.push(...event.usage ?? []); },
    });
  } catch (error) {
    errors.push(String(error));
  }
}
console.log(JSON.stringify({ messages: agent.messages, events, errors, usage }));
