import { render } from "preact";
import { followLinks } from "./address.ts";
import { Console } from "./frame/console.tsx";
import { keepChoices } from "./frame/theme.ts";
import { startClock } from "./machine.ts";

keepChoices();
startClock();
followLinks();
const root = document.getElementById("console");
if (root !== null) render(<Console />, root);
